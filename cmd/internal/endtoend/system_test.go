package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// The services of a system.
const (
	schedulerName = "scheduler"
	plannerName   = "planner"
	runnerName    = "runner"
)

// system is a server with a topology and whatever services a test has started.
type system struct {
	t       testing.TB
	server  *bustest.Server
	bus     *bus.Bus
	names   events.Names
	experts []runner.Function
	// split, when set, answers planning work in the place of the planner service.
	split func(w *events.Work) *events.Plan
	// model is who planners ask, nil for none.
	model llm.Client
	// cards is a folder of cards for runners, doer what answers in the place of their model.
	cards string
	doer  llm.Doer
	// rules are changed before a scheduler starts.
	settings scheduler.Settings
	// batches has work go in batches from the beginning.
	batches bool
	// dial, when set, connects a service in the place of the server's own way.
	dial func(service, id string) *bus.Bus
	// patience bounds each wait, in virtual time.
	patience time.Duration
	// quiet keeps the services from telling a verbose test what they do.
	quiet bool

	mu       sync.Mutex
	started  int
	calls    map[string]int // Effects that were really made, by "<job>/<subjob>/<run>/<key>".
	runs     map[string]int // Executions of experts, by "<job>/<subjob>/<run>".
	services []*service
}

// virtual runs a test in a bubble, with a clock of its own.
func virtual(t *testing.T, f func(s *system)) {
	t.Helper()
	bustest.Outside(t)
	synctest.Test(t, func(t *testing.T) {
		s := &system{t: t, server: bustest.Start(t, bustest.Settings{Quiet: true}), calls: map[string]int{}, runs: map[string]int{}, patience: 6 * time.Hour}
		s.settings = scheduler.Default()
		s.bus = s.server.Bus("test")
		s.names = s.bus.Names()
		s.experts = []runner.Function{s.expert("worker", false, s.work), s.expert("pure", true, s.echo)}
		defer s.stopAll()
		f(s)
	})
}

// service is one process of a service.
type service struct {
	name  string
	bus   *bus.Bus
	stop  context.CancelFunc
	kill  context.CancelFunc
	done  chan error
	crash bool
	once  sync.Once
}

// start runs a service on a connection of its own. The hook is nil, or called at every boundary.
func (s *system) start(name string, hook func(point string) error) *service {
	s.t.Helper()
	s.mu.Lock()
	s.started++
	id := fmt.Sprintf("%s-%d", name, s.started)
	s.mu.Unlock()
	work, kill := context.WithCancel(context.Background())
	intake, stop := context.WithCancel(work)
	var out io.Writer = io.Discard
	if testing.Verbose() && !s.quiet {
		out = s.t.Output()
	}
	p := host.NewProcess(work, intake, id, host.Settings{Concurrency: 16, DrainTimeout: 5 * time.Second}, slog.New(slog.NewTextHandler(out, nil)))
	v := &service{name: name, bus: s.connect(name, id), stop: stop, kill: kill, done: make(chan error, 1)}
	go func() {
		err := s.run(work, v, p, id, hook)
		v.done <- errors.Join(err, p.Close(context.Background())) // What it holds goes with it, as with any process.
	}()
	s.mu.Lock()
	s.services = append(s.services, v)
	s.mu.Unlock()
	return v
}

func (s *system) connect(service, id string) *bus.Bus {
	if s.dial == nil {
		return s.server.Connect(id)
	}
	return s.dial(service, id)
}

func (s *system) run(ctx context.Context, v *service, p *host.Process, id string, hook func(string) error) error {
	switch v.name {
	case schedulerName:
		return scheduler.Run(ctx, p, s.settings, scheduler.Deps{Bus: v.bus, Hook: hook, BatchAtOnce: s.batches})
	case plannerName:
		if s.split != nil {
			return s.scripted(p.Intake(), v.bus, p)
		}
		return planner.Run(ctx, p, planner.Default(), planner.Deps{Bus: v.bus, Hook: hook, Model: s.model, ModelName: "scripted"})
	}
	d := runner.Deps{Bus: v.bus, Owner: id, Functions: s.experts, Doer: s.doer}
	settings := runner.Default()
	if s.cards != "" {
		settings.Experts, settings.Model, settings.BaseURL, settings.WorkDir = []string{s.cards}, "scripted", "http://model.invalid/v1", s.t.TempDir()
	}
	if hook != nil {
		d.Hook = func(point, _ string) error { return hook(point) }
	}
	return runner.Run(ctx, p, settings, d)
}

// startAll runs one of each.
func (s *system) startAll() {
	for _, name := range []string{schedulerName, plannerName, runnerName} {
		s.start(name, nil)
	}
}

// die ends a service as kill -9 would: its connection first, so that it says nothing more.
func (s *system) die(v *service) {
	v.crash = true
	v.bus.Close()
	v.kill()
	s.wait(v)
}

func (s *system) wait(v *service) {
	v.once.Do(func() {
		if err := <-v.done; err != nil && !v.crash && !errors.Is(err, context.Canceled) {
			s.t.Errorf("%s: %v", v.name, err)
		}
	})
}

func (s *system) stopAll() {
	s.mu.Lock()
	services := s.services
	s.mu.Unlock()
	for _, v := range services {
		v.stop()
	}
	for _, v := range services {
		s.wait(v)
	}
}

// scripted is a planner that splits: it takes the request's plan as it is and asks split for the rest.
func (s *system) scripted(ctx context.Context, b *bus.Bus, p *host.Process) error {
	sub, err := b.Queues().Consume(ctx, b.Queues().PoolConsumer(events.PlannerPool))
	if err != nil {
		return err
	}
	defer sub.Stop()
	p.Ready()
	for {
		list, err := sub.Next(ctx, 16)
		if err != nil {
			return nil
		}
		for _, d := range list {
			var w events.Work
			if err := json.Unmarshal(d.Message().Body, &w); err != nil {
				return err
			}
			plan := &events.Plan{}
			if w.Kind == events.WorkPlan {
				if err := json.Unmarshal(w.Request.Plan, plan); err != nil {
					return err
				}
				for i := range plan.SubJobs {
					plan.SubJobs[i].Pool = events.DefaultPool
				}
			} else {
				plan = s.split(&w)
			}
			m, err := events.Encode(s.names, events.Event{Kind: events.KindGraphCreated, ID: w.ReportID, Job: w.Job, SubJob: w.SubJob, Run: w.Run, Source: "test", Data: &events.GraphCreated{Plan: plan}})
			if err != nil {
				return err
			}
			if _, err := b.Publish(ctx, m, bus.ExpectNone()); err == nil || errors.Is(err, bus.ErrConflict) {
				_ = d.Ack() // Otherwise it comes again.
			}
		}
	}
}

func (s *system) expert(id string, pure bool, f runner.Func) runner.Function {
	return runner.Function{Card: events.Card{ID: id, Name: id, Pure: pure}, Run: f}
}

// step says what a SubJob of a test does, in its goal: "echo", "sum", "fail 2", "bad input 1", "too complicated", "nonsense",
// "ask", "hang", "slow".
func (s *system) work(ctx context.Context, t *runner.Task) (events.SubJobReported, error) {
	w := t.Work
	s.mu.Lock()
	s.runs[runOf(w)]++
	s.mu.Unlock()
	for _, key := range []string{"first", "second"} {
		_, err := t.Hand.Do(ctx, runner.Effect{Key: key, Name: "call", Safe: true}, func(ctx context.Context) (json.RawMessage, error) {
			if err := ctx.Err(); err != nil {
				return nil, err // Nothing leaves the house, as with any client of the world outside.
			}
			s.mu.Lock()
			s.calls[runOf(w)+"/"+key]++
			s.mu.Unlock()
			return json.RawMessage(`true`), nil
		})
		if err != nil {
			return events.SubJobReported{}, err
		}
	}
	return s.act(ctx, w)
}

// runOf names a run among those of a play.
func runOf(w *events.Work) string { return w.Job + "/" + w.SubJob + "/" + strconv.Itoa(w.Run) }

func (s *system) echo(ctx context.Context, t *runner.Task) (events.SubJobReported, error) {
	s.mu.Lock()
	s.runs[runOf(t.Work)]++
	s.mu.Unlock()
	return s.act(ctx, t.Work)
}

func (s *system) act(ctx context.Context, w *events.Work) (events.SubJobReported, error) {
	verb, rest, _ := strings.Cut(w.Goal, ":")
	times := 1
	fmt.Sscan(rest, &times)
	first := w.Attempt <= times
	switch {
	case verb == "fail" && first:
		return events.SubJobReported{Outcome: events.ExecutionError, Lesson: "try again"}, nil
	case verb == "bad input" && w.Run <= times:
		return events.SubJobReported{Outcome: events.InputDataError, Lesson: "better data"}, nil
	case verb == "too complicated":
		return events.SubJobReported{Outcome: events.TooComplicated, Lesson: "split me"}, nil
	case verb == "ask":
		if answer, ok := w.Answers["q-"+w.SubJob]; ok {
			return events.SubJobReported{Output: answer.Answer}, nil
		}
		return events.SubJobReported{}, &runner.Park{Input: events.InputRequested{Request: "q-" + w.SubJob, Kind: events.InputClarification, Prompt: "Which?"}}
	case verb == "hang":
		<-ctx.Done()
		return events.SubJobReported{}, ctx.Err()
	case verb == "slow", verb == "pause":
		lasts := 3 * time.Second
		if verb == "pause" {
			lasts = 100 * time.Millisecond
		}
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
			return events.SubJobReported{}, ctx.Err()
		}
	}
	return s.compute(verb, w)
}

// compute is arithmetic over lists, so that data is seen to flow along the edges.
func (s *system) compute(verb string, w *events.Work) (events.SubJobReported, error) {
	var in []float64
	var texts []string
	for _, dep := range w.Spec.Dependencies {
		var list []float64
		if err := json.Unmarshal(w.Results[dep].Output, &list); err == nil {
			in = append(in, list...)
		}
		texts = append(texts, strings.Trim(fmt.Sprint(list), "[]"))
	}
	out := []float64{}
	switch verb {
	case "gen":
		out = []float64{1, 2, 3, 4, 5}
	case "double", "add ten":
		for _, v := range in {
			if verb == "double" {
				out = append(out, 2*v)
			} else {
				out = append(out, v+10)
			}
		}
	case "sum":
		total := 0.0
		for _, v := range in {
			total += v
		}
		out = append(out, total)
	default:
		data, err := json.Marshal(w.SubJob + " of " + strings.Join(texts, " | "))
		return events.SubJobReported{Output: data}, err
	}
	data, err := json.Marshal(out)
	return events.SubJobReported{Output: data}, err
}

func step(id, goal string, deps ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: goal, Expert: "worker", Dependencies: deps}
}

func plan(steps ...events.SubJob) json.RawMessage {
	text, err := json.Marshal(events.Plan{SubJobs: steps})
	if err != nil {
		panic(err)
	}
	return text
}

func (s *system) submit(r events.Request) {
	s.t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.bus.Publish(s.t.Context(), events.Message{Subject: s.names.Request(), Body: body}, bus.Expect{}); err != nil {
		s.t.Fatal(err)
	}
}

// say publishes a control event, or the answer to a question, under a key.
func (s *system) say(job string, kind events.Kind, key string, data any) {
	m, err := events.Encode(s.names, events.Event{Kind: kind, ID: job + "/" + string(kind) + "/" + key, Job: job, Key: key, Source: "test", Data: data})
	if err != nil {
		s.t.Error(err)
	}
	if _, err := s.bus.Publish(context.Background(), m, bus.Expect{}); err != nil {
		s.t.Errorf("say %s: %v", kind, err)
	}
}

// await reads a job's log from its beginning until f is true.
func (s *system) await(job, what string, f func(events.Event) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), s.patience)
	defer cancel()
	sub, err := s.bus.Log().Follow(ctx, s.names.JobEvents(job), bus.FollowOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer sub.Stop()
	for {
		list, err := sub.Next(ctx, 512)
		if err != nil {
			s.t.Fatalf("%s, waiting until %s: %v\n%s", job, what, err, s.history(job))
		}
		for i := range list {
			if e, ok := list[i].Event(); ok && f(e) {
				return
			}
		}
	}
}

// ended waits for an end with a status.
func (s *system) ended(job string, status events.Status) *events.JobEnded {
	s.t.Helper()
	var end *events.JobEnded
	s.await(job, "it is "+string(status), func(e events.Event) bool {
		d, ok := e.Data.(*events.JobEnded)
		if ok && d.Status == status {
			end = d
		}
		return end != nil
	})
	return end
}

// history is a job's log in words, for failures.
func (s *system) history(job string) string {
	var b strings.Builder
	for e, err := range s.bus.Log().EventsOf(context.Background(), job, 0) {
		fmt.Fprintf(&b, "%6d %s %s %d %s %v\n", e.Seq, e.Kind, e.SubJob, e.Run, e.Key, err)
	}
	return b.String()
}

// folded is the job as its log has it.
func (s *system) folded(job string) *graph.Job {
	s.t.Helper()
	j, err := graph.Fold(s.bus.Log().EventsOf(s.t.Context(), job, 0))
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// settled waits until the kept state is the fold of the log: `replay --diff` is clean.
func (s *system) settled(job string) {
	s.t.Helper()
	var kept []byte
	deadline := time.Now().Add(time.Minute)
	for wait := time.Millisecond; time.Now().Before(deadline); wait *= 2 {
		if value, _, err := s.bus.State().Get(s.t.Context(), job); err == nil {
			kept = value
			if s.same(kept, job) {
				return
			}
		}
		<-time.After(wait)
	}
	folded, _ := json.Marshal(s.folded(job))
	s.t.Errorf("kept state is not the fold of the log:\n%s", cmp.Diff(string(folded), string(kept)))
}

func (s *system) same(kept []byte, job string) bool {
	var state graph.State
	if json.Unmarshal(kept, &state) != nil {
		return false
	}
	folded := s.folded(job)
	folded.State.Seq, folded.EventID = state.Seq, state.EventID // job.advanced moves only the sequence.
	a, errA := json.Marshal(folded)
	b, errB := json.Marshal(&state)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// outcome is what must be the same however often services died: statuses and results.
func (s *system) outcome(job string) map[string]string {
	s.t.Helper()
	j := s.folded(job)
	out := map[string]string{"job": string(j.Status), "result": string(j.State.Result)}
	for _, n := range j.View().SubJobs {
		if n.ID != events.PlanID {
			out[n.ID] = string(n.Status)
		}
	}
	return out
}
