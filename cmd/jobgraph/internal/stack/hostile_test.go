package stack_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// bound is how long an effect may take.
const bound = 20 * time.Second

// siege is a stack, with accounts or without, that is attacked.
type siege struct {
	testing.TB
	layout *secure.Layout // nil for a stack without accounts.
	home   string         // The tenant; empty for the default one.
	stack  *stack.Stack
	admin  *client.Client
	boss   *client.Client // The person whose jobs and answers are attacked.
	ends   sync.Map       // The jobs whose runs were cancelled.
	pools  int            // The number of pools without a runner.
}

// hand is an attacker.
type hand struct {
	*siege
	name string
	nc   *nats.Conn
	bus  *client.Client
	loot *nats.Subscription // Replies to the attacker's requests.
}

// villageIn is village with an environment and an HTTP address.
func villageIn(t *testing.T, env host.Env, address string) *siege {
	t.Helper()
	k := musttest.Get(stack.Start(t.Context(), stack.Settings{
		Host: host.Settings{HTTPAddr: address, DrainTimeout: 10 * time.Second}, Env: env, Model: stack.FakeModel, Token: siegeToken,
		Embed: embed.Settings{Store: t.TempDir(), Listen: "127.0.0.1:0"}, Experts: []string{shouting(t), deciding(t)}, Log: slog.New(slog.DiscardHandler),
	}))(t)
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return (&siege{TB: t, stack: k}).open()
}

// castle is a stack with accounts.
func castle(t *testing.T) *siege {
	t.Helper()
	return castleIn(t, unset)
}

// castleIn is castle with an environment.
func castleIn(t *testing.T, env host.Env) *siege {
	t.Helper()
	rights := func(name string, list ...verb.Role) access.Identity {
		return access.Identity{Name: name, Role: access.Client, User: name, Rights: list}
	}
	l, k := fortressIn(t, env, secure.Change{
		Tenants: []string{secure.DefaultTenant, "other"},
		Add: []access.Identity{
			rights("boss", verb.Submitter, verb.Approver), rights("eve", verb.Submitter), rights("olga", verb.Operator),
			{Name: "mallory", Role: access.Runner, Pools: []string{"m"}},
		},
	}, shouting(t), deciding(t))
	return (&siege{TB: t, stack: k, layout: l}).open()
}

// open connects the boss and an observer.
func (s *siege) open() *siege {
	s.admin, s.boss = s.enter("admin"), s.enter("boss")
	return s
}

// options returns connection options with the key of an identity, or without a key.
func (s *siege) options(name string) bus.Options {
	o := bus.Options{URL: s.stack.Server().URL(), Name: name}
	if s.layout == nil {
		return o
	}
	tenant, who, other := strings.Cut(name, "/")
	if !other {
		tenant, who = cmp.Or(s.home, secure.DefaultTenant), name
	}
	o.NKey, o.CA, o.InboxPrefix, o.Signers = s.layout.Seed(tenant, who), s.layout.CA(), "_INBOX_"+who, s.layout.Signers(tenant)
	return o
}

func (s *siege) enter(name string) *client.Client {
	s.Helper()
	c := musttest.Get(client.Connect(s.Context(), s.options(name)))(s)
	s.Cleanup(c.Close)
	return c
}

func (s *siege) attacker(name string) *hand {
	s.Helper()
	o := s.options(name)
	settings := []nats.Option{nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if o.NKey != "" {
		key := musttest.Get(nats.NkeyOptionFromSeed(o.NKey))(s)
		settings = append(settings, key, nats.RootCAs(o.CA), nats.CustomInboxPrefix(o.InboxPrefix))
	}
	nc, err := nats.Connect(o.URL, settings...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(nc.Close)
	h := &hand{siege: s, name: name, nc: nc, bus: s.enter(name)}
	if h.loot, err = nc.SubscribeSync(nc.NewInbox()); err != nil {
		s.Fatal(err)
	}
	return h
}

// abroad reports whether the attacker belongs to another tenant, which has a log, pools and all else of its own.
func (h *hand) abroad() bool { return strings.Contains(h.name, "/") }

// job is the id of a job that the attacker submits.
func (h *hand) job() string { return "of-" + strings.ReplaceAll(h.name, "/", "-") }

// say publishes a message, with pairs of a header and its value.
func (h *hand) say(subject, body string, header ...string) {
	h.Helper()
	m := &nats.Msg{Subject: subject, Reply: h.loot.Subject, Data: []byte(body), Header: nats.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		m.Header[header[i]] = []string{header[i+1]}
	}
	musttest.Do(h, h.nc.PublishMsg(m))
}

// forge publishes a fact in the form that our programs use.
func (h *hand) forge(e events.Event) {
	h.Helper()
	e.ID, e.Source = "forged", cmp.Or(e.Source, "jobgraph/scheduler")
	m := musttest.Get(events.Encode(h.bus.Names(), e))(h)
	h.send(m)
}

// send publishes a message as it is.
func (h *hand) send(m events.Message) {
	h.Helper()
	pairs := []string{}
	for name, values := range m.Header { // any order: they are headers.
		pairs = append(pairs, name, values[0])
	}
	h.say(m.Subject, string(m.Body), pairs...)
}

// received reports whether a reply has come that is not an error.
func (h *hand) received(what string) bool {
	for {
		m, err := h.loot.NextMsg(time.Millisecond)
		if err != nil {
			return false
		}
		if strings.Contains(m.Subject+string(m.Data), what) {
			return true
		}
	}
}

// victim is a job of the boss.
type victim struct {
	job, subjob, request, session, pool string
	message                             events.Message // That someone has sent about the job.
	screen                              *screen        // What a reader of its live items has seen, if there is one.
}

// begin submits a job of the boss and waits for an event of it.
func (s *siege) begin(r events.Request, kind events.Kind) (v victim, e events.Event) {
	s.Helper()
	r.User = "boss"
	job := musttest.Get(s.boss.Submit(s.Context(), r))(s)
	of := musttest.Get(s.admin.Bus().Log().FollowJob(s.Context(), job, 0))(s)
	defer of.Stop()
	ctx, cancel := context.WithTimeout(s.Context(), bound)
	defer cancel()
	for {
		list, err := of.Next(ctx)
		if err != nil {
			s.Fatalf("job %s has no %s: %v\n%s", job, kind, err, s.story())
		}
		for _, e := range list {
			if e.Kind == kind {
				return victim{job: job, subjob: e.SubJob}, e
			}
		}
	}
}

// unserved returns the names of a job to come whose work will wait for a runner that never comes, in a pool of its own.
func (s *siege) unserved() victim {
	s.Helper()
	v := s.unheard()
	musttest.Do(s, s.admin.Bus().Queues().EnsurePool(s.Context(), v.pool))
	return v
}

// unheard is unserved for a pool that no runner has ever read.
func (s *siege) unheard() victim {
	s.Helper()
	s.pools++
	return s.of(fmt.Sprintf("void%d", s.pools))
}

// of returns the names of a job to come for the expert of a pool, which has its name.
func (s *siege) of(pool string) victim {
	s.Helper()
	card := fmt.Sprintf(`{"id":%q,"name":%q,"description":"Waits for ever.","kind":"nats","pool":%q}`, pool, pool, pool)
	musttest.Get(s.admin.Bus().Experts().Put(s.Context(), pool, []byte(card), 0))(s)
	return victim{job: "j-" + strings.ToLower(rand.Text()), subjob: "a", pool: pool}
}

// famous returns the name of an expert of a pool without a runner, as request.
func (s *siege) famous() victim {
	s.Helper()
	v := s.unheard()
	v.request = "The Famous " + v.pool
	card := fmt.Sprintf(`{"id":%q,"name":%q,"description":"Waits for ever.","kind":"command","pool":%q}`, v.pool, v.request, v.pool)
	musttest.Get(s.admin.Bus().Experts().Put(s.Context(), v.pool, []byte(card), 0))(s)
	return v
}

// wait submits a job of unserved.
func (s *siege) wait(v victim) {
	s.Helper()
	s.begin(events.Request{ID: v.job, Goal: "wait", Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"wait","expert":"` + v.pool + `"}]}`)}, events.KindGraphCreated)
}

// queued returns a job whose work waits for a runner that never comes.
func (s *siege) queued() victim {
	s.Helper()
	v := s.unserved()
	s.queue(v)
	return v
}

// unread is queued for a pool that no runner has ever read; later work waits in the pool of an attacker.
func (s *siege) unread() victim {
	s.Helper()
	v := s.unheard()
	s.queue(v)
	s.queue(s.of("m"))
	return v
}

// queue submits a job of unserved, and waits for its work.
func (s *siege) queue(v victim) {
	s.Helper()
	s.wait(v)
	s.issued(v)
}

// issued waits for the work of a victim's SubJob. The log knows its run then; what is said about the run before that changes nothing.
func (s *siege) issued(v victim) {
	s.Helper()
	s.until("work of "+v.job, func() bool { return s.last("JOBS_WORK", workOf(v)) != "" })
}

// workOf is the subject of the work of a victim's SubJob, without other work of its job, such as that of its plan.
func workOf(v victim) string { return "jobs.work.*.*." + v.job + "." + v.subjob + ".*" }

// coming returns the names of a job that is not submitted yet.
func (s *siege) coming() victim {
	return victim{job: "j-" + strings.ToLower(rand.Text()), subjob: "a", pool: events.DefaultPool}
}

// played submits such a job, and returns its result.
func (s *siege) played(v victim) string {
	s.Helper()
	job := musttest.Get(s.boss.Submit(s.Context(), events.Request{ID: v.job, Goal: "shout", User: "boss", Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"hello","expert":"Shout Expert"}]}`)}))(s)
	ctx, cancel := context.WithTimeout(s.Context(), bound)
	defer cancel()
	result := musttest.Get(s.boss.Wait(ctx, job))(s)
	return string(result.Result)
}

// journal returns the records that count for the runs of a SubJob.
func (s *siege) journal(v victim) []run.Entry {
	entries, _, err := s.admin.Bus().Journal(v.job, v.subjob).In(v.pool).Beside(nil).Read(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return entries
}

// asking returns a job that waits for an answer of the boss, in a session.
func (s *siege) asking() victim {
	session := "s-" + rand.Text()
	v, e := s.begin(events.Request{Goal: "decide", Expert: "Decider", Session: session}, events.KindInputRequested)
	v.session, v.request = session, e.Data.(*events.InputRequested).Request
	return v
}

// chatting returns a session of the boss.
func (s *siege) chatting() victim {
	v := s.coming()
	v.session = "s-" + rand.Text()
	s.begin(events.Request{ID: v.job, Goal: "hello", Expert: "Shout Expert", Session: v.session}, events.KindJobFinished)
	return v
}

// documents counts the documents of a base.
func (s *siege) documents(scope bases.Scope, name string) int {
	s.Helper()
	return len(musttest.Get(s.admin.Bus().Documents().List(s.Context(), bases.Base{Scope: scope, Name: name}))(s))
}

// until waits for a condition.
func (s *siege) until(what string, is func() bool) {
	s.Helper()
	late := time.After(bound)
	for look := time.NewTicker(10 * time.Millisecond); !is(); {
		select {
		case <-look.C:
		case <-late:
			s.Fatalf("it did not come: %s\n%s", what, s.story())
		}
	}
}

// passed runs another job to its end, so that everything earlier in the log has been handled.
func (s *siege) passed() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), bound)
	defer cancel()
	job, err := s.boss.Submit(ctx, events.Request{Goal: "hello", Expert: "Shout Expert", User: "boss"})
	if err == nil {
		_, err = s.boss.Wait(ctx, job)
	}
	if err != nil {
		s.Fatal("the stack does not work any more:", err)
	}
}

// status returns the status of a job according to its log, whatever its saved state says.
func (s *siege) status(v victim) events.Status {
	log := musttest.Get(s.admin.Logs().Fold(s.Context(), v.job, 0))(s)
	return log.Job.Status
}

// asks reports whether a question is open.
func (s *siege) asks(v victim) bool {
	log, err := s.admin.Logs().Fold(s.Context(), v.job, 0)
	return err == nil && slices.ContainsFunc(log.Job.View().Inputs, func(in *graph.InputState) bool { return in.Request == v.request })
}

// last returns the last message of a stream on a subject.
func (s *siege) last(stream, subject string) string {
	m, err := s.admin.Bus().Streams().LastOn(s.Context(), stream, subject)
	if err != nil {
		return ""
	}
	return string(m.Body)
}

// hear records cancelled jobs, as runners hear of them.
func (s *siege) hear() {
	s.Helper()
	stop, err := s.admin.Bus().OnCancel(func(job, _ string, _ int, _ string) { s.ends.Store(job, true) })
	if err == nil {
		err = s.admin.Bus().Flush(s.Context())
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(stop)
}
