package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// world is a server with a topology and whatever runners a test starts.
type world struct {
	t      testing.TB
	server *bustest.Server
	bus    *bus.Bus
	names  events.Names
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	s := bustest.Start(tb, bustest.Settings{Quiet: true})
	b := s.Bus("test")
	return &world{t: tb, server: s, bus: b, names: b.Names()}
}

// virtual runs a test in a bubble, with a clock of its own.
func virtual(t *testing.T, f func(w *world)) {
	t.Helper()
	bustest.Outside(t)
	synctest.Test(t, func(t *testing.T) { f(newWorld(t)) })
}

// runner is one runner process under test.
type runner struct {
	w       *world
	process *host.Process
	drain   context.CancelFunc
	kill    context.CancelFunc
	once    sync.Once
	done    chan error
}

// start runs the app on a connection of its own until the test ends. It returns when it is ready.
func (w *world) start(s app.Settings, d app.Deps) *runner {
	w.t.Helper()
	return w.startWith("", s, d)
}

// startWith is start with a configuration file.
func (w *world) startWith(config string, s app.Settings, d app.Deps) *runner {
	w.t.Helper()
	name := d.Owner
	if name == "" {
		name = "expert-runner"
	}
	work, kill := context.WithCancel(context.Background())
	intake, drain := context.WithCancel(work)
	out := io.Discard
	if testing.Verbose() {
		out = w.t.Output()
	}
	log := slog.New(slog.NewTextHandler(out, nil))
	settings := host.Settings{Config: config, Concurrency: 16, DrainTimeout: 5 * time.Second}
	r := &runner{w: w, drain: drain, kill: kill, done: make(chan error, 1)}
	r.process = host.NewProcess(work, intake, name, settings, log)
	if d.Bus == nil {
		d.Bus = w.server.Connect(name)
	}
	if s.Prefetch == 0 {
		s.Prefetch, s.Pools = app.Default().Prefetch, app.Default().Pools
	}
	go func() { r.done <- app.Run(work, r.process, s, d) }()
	w.t.Cleanup(func() {
		kill()
		r.wait()
	})
	w.until("the runner is ready", func() bool { return len(r.process.Health.Reasons(w.t.Context())) == 0 })
	return r
}

func (r *runner) wait() {
	r.once.Do(func() {
		if err := <-r.done; err != nil && !errors.Is(err, context.Canceled) {
			r.w.t.Errorf("runner: %v", err)
		}
	})
}

// crash ends a runner without letting it say anything: its hook has to have stopped its runs.
func (r *runner) crash() {
	r.kill()
	r.wait()
}

// until waits for something that has no event of its own.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer stop()
	for wait := time.Millisecond; !ok(); wait = min(wait+wait/2, time.Second) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			w.t.Fatalf("still waiting until %s", what)
		}
	}
}

// next waits for what comes over a channel, in virtual time.
func next[T any](w *world, from <-chan T) T {
	w.t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Minute):
		w.t.Fatal("nothing has come for ten minutes")
		panic("unreachable")
	}
}

// pass lets virtual time go by.
func (w *world) pass(d time.Duration) { <-time.After(d) }

// work makes a work message.
func work(expert, job, subjob string, run int) events.Work {
	return events.Work{
		Kind: events.WorkExecute, Job: job, SubJob: subjob, Run: run, Attempt: 1, Goal: "do it", LifeCycle: 3,
		IdempotencyKey: job + "/" + subjob + "/" + strconv.Itoa(run), Lease: events.Duration(30 * time.Second),
		Spec: events.SubJob{ID: subjob, Goal: "do it", Expert: expert},
	}
}

// issue publishes work as the scheduler does.
func (w *world) issue(expert string, o events.Work) {
	w.t.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.publish(w.names.WorkFor(events.DefaultPool, expert, o.Job, o.SubJob, o.Run), body)
}

func (w *world) publish(subject string, body []byte) {
	w.t.Helper()
	if _, err := w.bus.Publish(w.t.Context(), events.Message{Subject: subject, Body: body}, bus.ExpectNone()); err != nil {
		w.t.Fatal(err)
	}
}

// state saves a job's state in which the run is open, or not.
func (w *world) state(o events.Work, open bool) {
	w.t.Helper()
	body := `{"id":"` + o.Job + `","status":"RUNNING","subjobs":[{"id":"` + o.SubJob + `","status":"RUNNING","run":` +
		strconv.Itoa(o.Run) + `,"open":` + strconv.FormatBool(open) + `}]}`
	if _, err := w.bus.State().Put(w.t.Context(), o.Job, []byte(body), 0); err != nil {
		w.t.Fatal(err)
	}
}

// facts are the job's events of one kind.
func (w *world) facts(job string, kind events.Kind) []events.Event {
	w.t.Helper()
	var list []events.Event
	for e, err := range w.bus.Log().EventsOf(w.t.Context(), job, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// report waits for the report of a run.
func (w *world) report(o events.Work) *events.SubJobReported {
	w.t.Helper()
	var found *events.SubJobReported
	w.until("run "+o.IdempotencyKey+" is reported", func() bool {
		for _, e := range w.facts(o.Job, events.KindSubJobReported) {
			if e.SubJob == o.SubJob && e.Run == o.Run {
				found = e.Report()
			}
		}
		return found != nil
	})
	return found
}

// settled waits until no work is left.
func (w *world) settled() {
	w.t.Helper()
	w.until("no work is left", func() bool {
		facts, err := w.bus.Streams().Info(w.t.Context(), w.names.Work)
		return err == nil && facts.Messages == 0
	})
}

// journal lists the types of the records of a SubJob.
func (w *world) journal(job, subjob string) []events.JournalType {
	w.t.Helper()
	list, _, err := w.bus.Journal(job, subjob).Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	types := []events.JournalType{}
	for _, e := range list {
		types = append(types, e.Type)
	}
	return types
}

// fence closes a run as the scheduler does.
func (w *world) fence(o events.Work, reason string) {
	w.t.Helper()
	j := w.bus.Journal(o.Job, o.SubJob)
	for {
		_, last, err := j.Read(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = j.Append(w.t.Context(), events.JournalRecord{Type: events.JournalClosed, Run: o.Run, Reason: reason}, last)
		if err == nil {
			return
		}
		if !errors.Is(err, bus.ErrConflict) {
			w.t.Fatal(err)
		}
	}
}

// function is an expert in Go under an id.
func function(id string, pure bool, f app.Func) app.Function {
	return app.Function{Card: events.Card{ID: id, Name: id, Pure: pure}, Run: f}
}
