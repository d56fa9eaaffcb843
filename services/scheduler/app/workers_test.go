package app

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// workers are a planner that returns the request's plan unchanged, and workers that follow a script.
type workers struct {
	*servicetest.Env
	// script answers a run; nil means SUCCESS with the SubJob's id.
	script func(w *events.Work) *events.SubJobReported

	mu   sync.Mutex
	runs []string        // "<subjob>/<run>" in the order in which they were done.
	live map[string]bool // Runs of steps that were taken, by idempotency key: true until they are reported. most is the greatest number at once.
	most int
	over int // How many of live were reported.
	stop func()
}

// bystander is a job that no script concerns.
const bystander = "after"

func newWorkers(t testing.TB, script func(w *events.Work) *events.SubJobReported) *workers {
	t.Helper()
	w := &workers{Env: servicetest.New(t), script: script, live: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, pool := range []string{events.PlannerPool, events.DefaultPool} {
		sub := musttest.Get(w.Bus.Queues().Consume(ctx, w.Bus.Queues().PoolConsumer(pool)))(t)
		all.Go(func() {
			defer sub.Stop()
			w.serve(ctx, sub)
		})
	}
	w.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(w.stop)
	return w
}

func (w *workers) serve(ctx context.Context, sub *bus.Subscription) {
	type sent struct {
		d   bus.Delivery
		ack bus.Ack
		run string
	}
	for {
		list, err := sub.Next(ctx, 256)
		if err != nil {
			return
		}
		acks := make([]sent, 0, len(list))
		for _, d := range list {
			m, ok := w.answer(d.Message().Body)
			if !ok {
				continue
			}
			acks = append(acks, sent{d, w.Bus.PublishAsync(m, bus.ExpectNone()), m.Get(events.HeaderID)})
		}
		for _, s := range acks {
			if _, err := s.ack.Wait(ctx); err == nil || errors.Is(err, bus.ErrConflict) {
				w.reported(s.run)
				_ = s.d.Ack()
			}
		}
	}
}

func (w *workers) answer(body []byte) (events.Message, bool) {
	var work events.Work
	if err := json.Unmarshal(body, &work); err != nil {
		w.Errorf("work: %v", err)
		return events.Message{}, false
	}
	e := events.Event{Job: work.Job, SubJob: work.SubJob, Run: work.Run, ID: work.ReportID, Source: "test"}
	switch work.Kind {
	case events.WorkPlan, events.WorkReplan, events.WorkSplit:
		e.Kind, e.Data = events.KindGraphCreated, w.plan(&work)
	default:
		w.mu.Lock()
		w.runs = append(w.runs, work.SubJob+"/"+strconv.Itoa(work.Run))
		w.begun(work.IdempotencyKey)
		w.mu.Unlock()
		report := &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"` + work.SubJob + `"`)}
		if w.script != nil && work.Job != bystander {
			report = w.script(&work)
		}
		if report == nil {
			return events.Message{}, false
		}
		e.Kind, e.Data = events.KindSubJobReported, report
	}
	m, err := events.Encode(w.Names, e)
	if err != nil {
		w.Errorf("encode: %v", err)
	}
	return m, err == nil
}

// begun counts a run that was taken, unless it was reported before: a repeat is not done again.
func (w *workers) begun(run string) {
	if _, known := w.live[run]; !known {
		w.live[run] = true
		w.most = max(w.most, len(w.live)-w.over)
	}
}

func (w *workers) reported(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live[run] {
		w.live[run] = false
		w.over++
	}
}

// taken lists the runs of steps that were taken, by idempotency key.
func (w *workers) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.live))
}

func (w *workers) plan(work *events.Work) *events.GraphCreated {
	created := &events.GraphCreated{PlanVersion: work.PlanVersion, Plan: &events.Plan{}}
	text := []byte(work.Request.Plan)
	if ref := work.Request.PlanRef; ref != nil {
		data, err := w.Bus.Blobs().Get(context.Background(), work.Job, ref.Digest)
		if err != nil {
			w.Errorf("plan blob: %v", err)
		}
		text = data
	}
	if len(text) == 0 && work.Request.Expert != "" {
		text = plan(sub("whole"))
	}
	if err := json.Unmarshal(text, created.Plan); err != nil {
		w.Errorf("plan: %v", err)
	}
	if len(text) > events.MaxInline {
		ref, err := w.Bus.Blobs().Put(context.Background(), work.Job, text)
		if err != nil {
			w.Errorf("put plan: %v", err)
		}
		created.Plan, created.PlanRef = nil, &ref
	}
	return created
}

// schedule runs a scheduler, over a separate connection unless it is given one, until the end of the test, which fails if the
// scheduler does not end well.
func (w *workers) schedule(s Settings, d Deps) *servicetest.Service {
	w.Helper()
	if d.Bus == nil {
		d.Bus = w.Server.Connect("scheduler")
	}
	run := func(ctx context.Context, p *host.Process) error { return Run(ctx, p, s, d) }
	return w.Start("scheduler", host.Settings{Prefix: "jobs"}, run).StopAtEnd()
}

// saved waits until the saved state of a job satisfies f, and returns it.
func (w *workers) saved(job string, f func(*graph.State) bool) *graph.State {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), w.Patience)
	defer cancel()
	found := make(chan *graph.State, 1)
	stop := musttest.Get(w.Bus.State().Watch(ctx, nil, func(e bus.Entry) {
		var s graph.State
		if e.Key == job && json.Unmarshal(e.Value, &s) == nil && f(&s) {
			select {
			case found <- &s:
			default:
			}
		}
	}))(w)
	defer stop()
	select {
	case s := <-found:
		return s
	case <-ctx.Done():
		w.Fatalf("state of %s: %v", job, ctx.Err())
		return nil
	}
}

func plan(subjobs ...events.SubJob) json.RawMessage {
	text, err := json.Marshal(events.Plan{SubJobs: subjobs})
	if err != nil {
		panic(err)
	}
	return text
}

func sub(id string, deps ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: "do " + id, Expert: "noop", Pool: events.DefaultPool, Pure: true, Dependencies: deps}
}

func diamond() json.RawMessage {
	return plan(sub("a"), sub("b", "a"), sub("c", "a"), sub("d", "b", "c"))
}
