package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
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

// system is an Env with the services of a whole system.
type system struct {
	*servicetest.Env
	experts []runner.Function
	// split, if set, answers planning work instead of the planner service.
	split func(w *events.Work) *events.Plan
	// model is the model of planners, or nil.
	model llm.Client
	// cards is a folder of cards for runners; doer answers instead of their model.
	cards string
	doer  llm.Doer
	// settings are those of schedulers, changed before they start.
	settings scheduler.Settings
	// batches has work go in batches from the beginning.
	batches bool
	// dial, if set, connects a service instead of the default.
	dial func(service, id string) *bus.Bus

	mu      sync.Mutex
	started int
	calls   map[string]int // Effects that were really made, by "<job>/<subjob>/<run>/<key>".
	runs    map[string]int // Executions of experts, by "<job>/<subjob>/<run>".
}

// virtual runs a test in a bubble, with a virtual clock.
func virtual(t *testing.T, f func(s *system)) {
	t.Helper()
	servicetest.Virtual(t, func(_ *testing.T, e *servicetest.Env) {
		s := &system{Env: e, calls: map[string]int{}, runs: map[string]int{}, settings: scheduler.Default()}
		s.experts = []runner.Function{s.expert("worker", false, s.work), s.expert("pure", true, func(ctx context.Context, t *runner.Task) (events.SubJobReported, error) {
			s.mu.Lock()
			s.runs[runOf(t.Work)]++
			s.mu.Unlock()
			return s.act(ctx, t.Work)
		})}
		f(s)
	})
}

// service is one running process of a service, with its connection.
type service struct {
	*servicetest.Service
	bus *bus.Bus
}

// start runs a service on a separate connection. The hook is nil, or called at every boundary.
func (s *system) start(name string, hook func(point string) error) *service {
	s.Helper()
	s.mu.Lock()
	s.started++
	id := fmt.Sprintf("%s-%d", name, s.started)
	s.mu.Unlock()
	b := s.connect(name, id)
	run := func(ctx context.Context, p *host.Process) error { return s.run(ctx, name, b, p, id, hook) }
	return &service{s.Start(id, host.Settings{}, run).StopAtEnd(), b}
}

func (s *system) connect(service, id string) *bus.Bus {
	if s.dial == nil {
		return s.Server.Connect(id)
	}
	return s.dial(service, id)
}

func (s *system) run(ctx context.Context, name string, b *bus.Bus, p *host.Process, id string, hook func(string) error) error {
	switch name {
	case schedulerName:
		return scheduler.Run(ctx, p, s.settings, scheduler.Deps{Bus: b, Hook: hook, BatchAtOnce: s.batches})
	case plannerName:
		if s.split != nil {
			return s.scripted(p.Intake(), b, p)
		}
		return planner.Run(ctx, p, planner.Default(), planner.Deps{Bus: b, Hook: hook, Model: s.model, ModelName: "scripted"})
	}
	d := runner.Deps{Bus: b, Owner: id, Functions: s.experts, Doer: s.doer}
	settings := runner.Default()
	if s.cards != "" {
		settings.Experts, settings.Model, settings.BaseURL, settings.WorkDir = []string{s.cards}, "scripted", "http://model.invalid/v1", s.TempDir()
	}
	if hook != nil {
		d.Hook = func(point, _ string) error { return hook(point) }
	}
	return runner.Run(ctx, p, settings, d)
}

// startAll starts one of each service.
func (s *system) startAll() {
	for _, name := range []string{schedulerName, plannerName, runnerName} {
		s.start(name, nil)
	}
}

// scripted is a planner that also splits: it returns the request's plan unchanged, and asks split for the rest.
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
			m, err := events.Encode(s.Names, events.Event{Kind: events.KindGraphCreated, ID: w.ReportID, Job: w.Job, SubJob: w.SubJob, Run: w.Run, Source: "test", Data: &events.GraphCreated{Plan: plan}})
			if err != nil {
				return err
			}
			if _, err := b.Publish(ctx, m, bus.ExpectNone()); err == nil || errors.Is(err, bus.ErrConflict) {
				_ = d.Ack() // Without it the work would be delivered again.
			}
		}
	}
}

func (s *system) expert(id string, pure bool, f runner.Func) runner.Function {
	return runner.Function{Card: events.Card{ID: id, Name: id, Pure: pure}, Run: f}
}

// work executes a test SubJob according to its goal: "echo", "sum", "fail 2", "bad input 1", "too complicated", "nonsense",
// "ask", "hang", "slow".
func (s *system) work(ctx context.Context, t *runner.Task) (events.SubJobReported, error) {
	w := t.Work
	s.mu.Lock()
	s.runs[runOf(w)]++
	s.mu.Unlock()
	for _, key := range []string{"first", "second"} {
		_, err := t.Hand.Do(ctx, runner.Effect{Key: key, Name: "call", Safe: true}, func(ctx context.Context) (json.RawMessage, error) {
			if err := ctx.Err(); err != nil {
				return nil, err // Errors are not wrapped, as for any outside client.
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

// runOf returns the name of a run.
func runOf(w *events.Work) string { return w.Job + "/" + w.SubJob + "/" + strconv.Itoa(w.Run) }

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

// compute is arithmetic over lists, which shows that data flows along the edges.
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

// say publishes a control event, or the answer to a question, under a key.
func (s *system) say(job string, kind events.Kind, key string, data any) {
	s.Tell(events.Event{Kind: kind, Job: job, Key: key, Data: data})
}

// settled waits until the saved state is the fold of the log: `replay --diff` reports no difference.
func (s *system) settled(job string) {
	s.Helper()
	var kept []byte
	deadline := time.Now().Add(s.Patience)
	for wait := time.Millisecond; time.Now().Before(deadline); wait = min(2*wait, time.Second) {
		if value, _, err := s.Bus.State().Get(s.Context(), job); err == nil {
			kept = value
			if s.same(kept, job) {
				return
			}
		}
		<-time.After(wait)
	}
	folded, _ := json.Marshal(s.Folded(job))
	s.Errorf("kept state is not the fold of the log:\n%s", cmp.Diff(string(folded), string(kept)))
}

func (s *system) same(kept []byte, job string) bool {
	var state graph.State
	if json.Unmarshal(kept, &state) != nil {
		return false
	}
	folded := s.Folded(job)
	folded.State.Seq, folded.EventID = state.Seq, state.EventID // job.advanced moves only the sequence.
	a, errA := json.Marshal(folded)
	b, errB := json.Marshal(&state)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// outcome returns what must be the same however often services died: statuses and results.
func (s *system) outcome(job string) map[string]string {
	s.Helper()
	j := s.Folded(job)
	out := map[string]string{"job": string(j.Status), "result": string(j.State.Result)}
	for _, n := range j.View().SubJobs {
		if n.ID != events.PlanID {
			out[n.ID] = string(n.Status)
		}
	}
	return out
}
