package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// The tenant beside the default one, and the start-up token of its gateway.
const (
	neighbour      = "other"
	neighbourToken = "fedcba9876543210fedcba9876543210"
	ownToken       = "0123456789abcdef0123456789abcdef"
)

// estate is a tenant with services and data. All texts of the data contain its secret.
type estate struct {
	*siege
	secret, token, at string // at is the address of the gateway.
	job, session      string
}

// neighbours are two tenants on one server, each with services, experts, jobs and everything else that is kept.
func neighbours(t *testing.T) (home, other *estate) {
	t.Helper()
	s := castle(t)
	home = &estate{siege: s, token: ownToken, at: s.stack.HTTP()}
	other = &estate{siege: &siege{TB: t, stack: s.stack, layout: s.layout, home: neighbour}, token: neighbourToken}
	other.open()
	musttest.Do(t, other.admin.Bus().Streams().Init(t.Context()))
	other.at = other.serve(t)
	home.furnish("secret-of-home")
	other.furnish("secret-of-the-other")
	return home, other
}

// serve runs the services of a tenant on the server of another one, and returns the address of its gateway.
func (e *estate) serve(t *testing.T) string {
	t.Helper()
	env := func(string) (string, bool) { return "", false }
	own, err := stack.ReadServices("", env)
	if err != nil {
		t.Fatal(err)
	}
	own.Gateway.StartToken, own.Runner.Experts = e.token, []string{shouting(t), deciding(t)}
	work, end := context.WithCancel(t.Context())
	process := host.NewProcess(work, work, e.home, host.Settings{HTTPAddr: "127.0.0.1:0", DrainTimeout: 10 * time.Second}, slog.New(slog.DiscardHandler))
	process.Env = env
	if process.Server, err = host.Listen("127.0.0.1:0", process.Health, process.Metrics, process.Build); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 5)
	go func() { served <- process.Server.Run(work) }()
	begin := func(who string, run func(context.Context, *host.Process, *bus.Bus) error) {
		b, child := e.enter(who).Bus(), process.Child(who)
		go func() { served <- run(work, child, b) }()
	}
	begin("scheduler", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
		return scheduler.Run(ctx, p, own.Scheduler, scheduler.Deps{Bus: b})
	})
	begin("planner", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
		return planner.Run(ctx, p, own.Planner, planner.Deps{Bus: b})
	})
	begin("runner", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
		return runner.Run(ctx, p, own.Runner, runner.Deps{Bus: b})
	})
	begin("gateway", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
		return gateway.Run(ctx, p, own.Gateway, gateway.Deps{Bus: b})
	})
	t.Cleanup(func() { // The services and the HTTP server have ended.
		end()
		for range cap(served) {
			if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if err := process.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	process.Ready()
	e.until("the services of the other tenant", func() bool { return len(process.Health.Reasons(t.Context())) == 0 })
	return process.Server.URL()
}

// furnish puts the secret into everything that a tenant can keep.
func (e *estate) furnish(secret string) {
	e.Helper()
	e.secret, e.session = secret, "session"
	ctx, b := e.Context(), e.admin.Bus()
	job, err := e.boss.Submit(ctx, events.Request{Goal: secret, Expert: "Shout Expert", User: "boss", Session: e.session, Context: secret})
	if e.job = job; err == nil {
		_, err = e.boss.Wait(ctx, job)
	}
	if err != nil {
		e.Fatal(err)
	}
	v := e.of("kept")
	e.begin(events.Request{ID: v.job, Goal: secret, Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"` + secret + `","expert":"` + v.pool + `"}]}`)}, events.KindGraphCreated)
	e.issued(v)
	_, blob := b.Blobs().Put(ctx, job, []byte(secret))
	_, document := b.Documents().Put(ctx, bases.Base{Scope: bases.User, Name: "anna"}, events.Ref{Name: secret}, strings.NewReader(secret))
	_, fact := b.Memory().Put(ctx, "fact.boss.x", []byte(strconv.Quote(secret)), 0)
	_, plan := e.admin.Plan(ctx, client.PlanOperation{Command: "create", PlanID: secret, Title: secret, Steps: []string{secret}})
	_, card := b.Experts().Put(ctx, "kept", []byte(`{"id":"kept","name":"kept","description":"`+secret+`","pool":"kept"}`), 0)
	_, timed := e.admin.Schedules().Create(ctx, secret, schedule.Spec{When: events.Schedule{Cron: "0 0 1 1 *"}, Request: events.Request{Goal: secret, Expert: "Shout Expert"}})
	live := b.Items().Send(job, "a", "", []byte(strconv.Quote(secret)))
	musttest.Do(e, errors.Join(blob, document, fact, plan, card, timed, live))
	before := e.letters()
	e.publish(events.Message{Subject: "jobs.work.default.nonsense.0", Body: []byte(secret)})
	e.dead("work:", before)
}

// leaks reports whether a text contains the secret.
func (e *estate) leaks(text string) bool { return strings.Contains(strings.ToLower(text), e.secret) }

// spy is someone who tries to read what a tenant has.
type spy struct {
	*hand
	of    *estate
	sub   *nats.Subscription // Replies; the last token of their subjects is the number of the question.
	ears  []*nats.Subscription
	asked []string
}

func (e *estate) spy(who string) *spy {
	e.Helper()
	p := &spy{hand: e.attacker(who), of: e}
	listen := func(subject string) *nats.Subscription {
		sub := musttest.Get(p.nc.SubscribeSync(subject))(e)
		musttest.Do(e, sub.SetPendingLimits(-1, -1))
		return sub
	}
	p.sub = listen(p.nc.NewInbox() + ".*")
	for _, subject := range []string{
		">", "jobs.>", "_INBOX.>", "_INBOX_admin.>", "_INBOX_boss.>", "_INBOX_scheduler.>", "_INBOX_" + strings.TrimPrefix(who, neighbour+"/") + ".>", "$JS.>", "$JS.EVENT.>", "$KV.>", "$O.>", "$SYS.>",
		"$SYS.ACCOUNT.>", "$SYS.REQ.>", "$SRV.>", "tools.>",
	} {
		p.ears = append(p.ears, listen(subject))
	}
	for _, row := range access.Table(e.admin.Names()) {
		p.ears = append(p.ears, listen(strings.ReplaceAll(row.Subject, "{pool}", "*")))
	}
	return p
}

// ask sends a question.
func (p *spy) ask(subject, body string) {
	p.Helper()
	reply := strings.TrimSuffix(p.sub.Subject, "*") + strconv.Itoa(len(p.asked))
	p.asked = append(p.asked, subject+" "+body)
	musttest.Do(p, p.nc.PublishRequest(subject, reply, []byte(body)))
}

// pry asks for everything.
func (p *spy) pry() {
	p.Helper()
	n, id := p.of.admin.Names(), `{"id":"`+p.of.job+`","session":"`+p.of.session+`"}`
	for _, api := range []string{"$JS.API.", "$JS.JOBGRAPH.API.", "$JS.jobgraph.API.", "$JS.OTHER.API."} {
		for _, what := range []string{"INFO", "STREAM.NAMES", "STREAM.LIST"} {
			p.ask(api+what, "")
		}
		for _, s := range access.Streams(n) {
			p.ask(api+"STREAM.INFO."+s, `{"subjects_filter":">"}`)
			p.ask(api+"STREAM.MSG.GET."+s, `{"last_by_subj":">"}`)
			p.ask(api+"DIRECT.GET."+s, `{"seq":1,"next_by_subj":">","batch":1000}`)
			p.ask(api+"CONSUMER.LIST."+s, "")
			p.ask(api+"CONSUMER.NAMES."+s, "")
			p.ask(api+"CONSUMER.CREATE."+s+".spy", `{"stream_name":"`+s+`","config":{"name":"spy","ack_policy":"none","deliver_subject":"`+p.loot.Subject+`"}}`)
		}
		p.ask(api+"CONSUMER.MSG.NEXT."+n.Work+".pool-kept", `{"batch":10,"expires":1000000000}`)
	}
	for _, account := range []string{"JOBGRAPH", "OTHER"} {
		p.ask("$JS.API.STREAM.CREATE.spy", `{"name":"spy","storage":"memory","sources":[{"name":"JOBS","external":{"api":"$JS.`+account+`.API","deliver":"spy"}}]}`)
		for _, what := range []string{"CONNZ", "SUBSZ", "LEAFZ", "JSZ", "INFO", "STATZ", "CONNS", "CLAIMS.LOOKUP"} {
			p.ask("$SYS.REQ.ACCOUNT."+account+"."+what, "{}")
		}
	}
	for _, what := range []string{"SERVER.PING", "SERVER.PING.CONNZ", "SERVER.PING.JSZ", "SERVER.PING.SUBSZ", "SERVER.PING.VARZ", "SERVER.PING.ACCOUNTZ", "ACCOUNT.PING.CONNZ", "ACCOUNT.PING.STATZ", "USER.INFO"} {
		p.ask("$SYS.REQ."+what, "{}")
	}
	for _, what := range []string{"PING", "INFO", "STATS", "INFO.jobgraph-runner", "INFO.jobgraph-scheduler", "INFO.jobgraph-gateway"} {
		p.ask("$SRV."+what, "")
	}
	for _, v := range verb.All() {
		if v.Effect == verb.Read {
			p.ask(n.API(v.Name), id)
			p.ask(n.API(v.Name), "{}")
		}
	}
}

// found returns the questions whose answers contain the secret, and the subjects on which it was heard otherwise.
func (p *spy) found() map[string]bool {
	p.Helper()
	err := p.nc.Flush()
	p.of.passed() // Everything that belongs to a job is done, so that answers have had their time.
	musttest.Do(p, errors.Join(err, p.nc.Flush()))
	found := map[string]bool{}
	for _, sub := range append(p.ears, p.sub, p.loot) {
		waiting, _, err := sub.Pending()
		if err != nil {
			continue // It was refused.
		}
		for range waiting {
			m := musttest.Get(sub.NextMsg(bound))(p)
			var stored struct {
				Message struct{ Data []byte }
			}
			_ = json.Unmarshal(m.Data, &stored) // It is anything.
			text := m.Subject + " " + string(m.Data) + fmt.Sprint(m.Header) + string(stored.Message.Data)
			if !p.of.leaks(text) {
				continue
			}
			what := sub.Subject
			if number, err := strconv.Atoi(strings.TrimPrefix(m.Subject, strings.TrimSuffix(p.sub.Subject, "*"))); sub == p.sub && err == nil {
				what = p.asked[number]
			}
			found[what] = true
		}
	}
	return found
}

// TestATenantLearnsNothingOfAnother has every key of each of two tenants ask for everything that the other one has. The same questions, asked
// with keys of the tenant itself, are answered with its secret.
func TestATenantLearnsNothingOfAnother(t *testing.T) {
	home, other := neighbours(t)
	own := map[string]bool{}
	for _, who := range []string{"viewer", "admin"} {
		p := home.spy(who)
		p.pry()
		maps.Copy(own, p.found())
	}
	for _, s := range []string{"JOBS", "JOBS_WORK", "JOBS_DLQ", "JOBS_SCHEDULES", "JOBS_CONVERSATIONS", "JOBS_LIVE", "KV_JOBS_STATE", "KV_JOBS_EXPERTS", "KV_JOBS_SESSIONS", "KV_JOBS_PLANS", "KV_JOBS_MEMORY", "OBJ_JOBS_BLOBS"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(own)), func(question string) bool { return strings.Contains(question, "DIRECT.GET."+s+" ") }) {
			t.Errorf("the tenant itself does not find its secret in %s", s)
		}
	}
	if len(own) < 35 {
		t.Errorf("only %d questions lead to the secret: %v", len(own), slices.Sorted(maps.Keys(own)))
	}
	for _, c := range []struct {
		of   *estate
		from string
	}{{home, neighbour + "/"}, {other, secure.DefaultTenant + "/"}} {
		for _, who := range []string{"admin", "scheduler", "planner", "gateway", "runner", "mallory", "boss", "olga", "viewer"} {
			p := c.of.spy(c.from + who)
			p.pry()
			for what := range p.found() { // any order: there should be none.
				t.Errorf("%s%s finds %s by %s", c.from, who, c.of.secret, what)
			}
		}
	}
}

// TestATenantChangesNothingOfAnother has keys of a tenant with services of its own try every attack on another one.
func TestATenantChangesNothingOfAnother(t *testing.T) {
	home, _ := neighbours(t)
	home.hear()
	for _, a := range attacks() {
		var v victim
		if a.on != nil {
			v = a.on(home.siege)
		}
		for _, who := range []string{"admin", "mallory", "boss"} {
			h := home.attacker(neighbour + "/" + who)
			a.strike(h, v)
			musttest.Do(t, h.nc.Flush())
			h.nc.Close()
			h.bus.Close()
		}
		if home.passed(); a.worked(home.siege, v, nil) {
			t.Errorf("%s has taken effect", a.name)
		}
	}
}

// TestAGatewayServesItsTenantAlone asks the gateways of two tenants for everything, each with the token of the other.
func TestAGatewayServesItsTenantAlone(t *testing.T) {
	home, other := neighbours(t)
	for _, e := range []*estate{home, other} {
		stranger := home.token
		if e == home {
			stranger = other.token
		}
		leaks, tried := 0, 0
		for _, v := range verb.All() {
			if v.Path == "" {
				continue
			}
			for _, path := range append([]string{v.Path}, v.Also...) {
				path = strings.NewReplacer("{id}", e.job, "{session}", e.session, "{subjob}", "a").Replace(path)
				if v.Method == http.MethodGet && v.Stream == "" {
					if _, text := e.http(v.Method, path, e.token); e.leaks(text) {
						leaks++
					}
				}
				status, text := e.http(v.Method, path, stranger)
				if tried++; status != http.StatusUnauthorized || e.leaks(text) {
					t.Errorf("%s %s of %s, with the token of another tenant: %d %s", v.Method, path, e.secret, status, text)
				}
			}
		}
		if leaks < 10 || tried < 60 {
			t.Errorf("%d of %d routes of %s have its secret", leaks, tried, e.secret)
		}
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/version", "/openapi.json"} {
			if status, text := e.http(http.MethodGet, path, ""); e.leaks(text) {
				t.Errorf("%s without a token: %d %s", path, status, text)
			}
		}
	}
}

// http asks a gateway with a token.
func (e *estate) http(method, path, token string) (status int, text string) {
	e.Helper()
	r := musttest.Get(http.NewRequestWithContext(e.Context(), method, e.at+path, strings.NewReader("{}")))(e)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body was read.
	body := musttest.Get(io.ReadAll(answer.Body))(e)
	return answer.StatusCode, string(body)
}
