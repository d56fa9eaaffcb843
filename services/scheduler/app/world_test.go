package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// world is a server with a planner that takes the request's plan as it is and workers that do as a script says.
type world struct {
	t      testing.TB
	server *bustest.Server
	bus    *bus.Bus
	// script answers a run; nil means SUCCESS with the SubJob's id.
	script func(w *events.Work) *events.SubJobReported
	// health is that of the scheduler that was started last.
	health *host.Health
	// config is the configuration file of schedulers, if there is one.
	config string

	mu   sync.Mutex
	runs []string        // "<subjob>/<run>" in the order they were done.
	live map[string]bool // Runs of steps that were taken, by idempotency key: true until they are reported. most is the most there were at once.
	most int
	over int // How many of live were reported.
	stop func()
}

// bystander is a job that no script is about.
const bystander = "after"

func newWorld(t testing.TB, script func(w *events.Work) *events.SubJobReported) *world {
	t.Helper()
	w := &world{t: t, server: bustest.Start(t, bustest.Settings{Quiet: true}), script: script, live: map[string]bool{}}
	w.bus = w.server.Bus("world")
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, pool := range []string{events.PlannerPool, events.DefaultPool} {
		sub, err := w.bus.Queues().Consume(ctx, w.bus.Queues().PoolConsumer(pool))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer sub.Stop()
			w.serve(ctx, sub)
		})
	}
	var once sync.Once
	w.stop = func() { once.Do(func() { cancel(); all.Wait() }) }
	t.Cleanup(w.stop)
	return w
}

func (w *world) serve(ctx context.Context, sub *bus.Subscription) {
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
			acks = append(acks, sent{d, w.bus.PublishAsync(m, bus.ExpectNone()), m.Get(events.HeaderID)})
		}
		for _, s := range acks {
			if _, err := s.ack.Wait(ctx); err == nil || errors.Is(err, bus.ErrConflict) {
				w.reported(s.run)
				_ = s.d.Ack()
			}
		}
	}
}

func (w *world) answer(body []byte) (events.Message, bool) {
	var work events.Work
	if err := json.Unmarshal(body, &work); err != nil {
		w.t.Errorf("work: %v", err)
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
	m, err := events.Encode(w.bus.Names(), e)
	if err != nil {
		w.t.Errorf("encode: %v", err)
	}
	return m, err == nil
}

// begun counts a run that was taken, unless it was reported before: what comes twice is done once.
func (w *world) begun(run string) {
	if _, known := w.live[run]; !known {
		w.live[run] = true
		w.most = max(w.most, len(w.live)-w.over)
	}
}

func (w *world) reported(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live[run] {
		w.live[run] = false
		w.over++
	}
}

// taken lists the runs of steps that were taken, by idempotency key.
func (w *world) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.live))
}

func (w *world) plan(work *events.Work) *events.GraphCreated {
	created := &events.GraphCreated{PlanVersion: work.PlanVersion, Plan: &events.Plan{}}
	text := []byte(work.Request.Plan)
	if ref := work.Request.PlanRef; ref != nil {
		data, err := w.bus.Blobs().Get(context.Background(), work.Job, ref.Digest)
		if err != nil {
			w.t.Errorf("plan blob: %v", err)
		}
		text = data
	}
	if len(text) == 0 && work.Request.Expert != "" {
		text = plan(sub("whole"))
	}
	if err := json.Unmarshal(text, created.Plan); err != nil {
		w.t.Errorf("plan: %v", err)
	}
	if len(text) > events.MaxInline {
		ref, err := w.bus.Blobs().Put(context.Background(), work.Job, text)
		if err != nil {
			w.t.Errorf("put plan: %v", err)
		}
		created.Plan, created.PlanRef = nil, &ref
	}
	return created
}

// schedule runs a scheduler over an own connection until the returned function is called, which gives Run's error.
func (w *world) schedule(s Settings, d Deps) (stop func() error) {
	w.t.Helper()
	d.Bus = w.server.Connect("scheduler")
	return w.scheduleOn(s, d)
}

func (w *world) scheduleOn(s Settings, d Deps) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	level := slog.LevelWarn
	log := slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: level}))
	p := host.NewProcess(context.Background(), ctx, "scheduler", host.Settings{Prefix: "jobs", Config: w.config}, log)
	w.health = p.Health
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), p, s, d) }()
	return sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-done, p.Close(context.Background()))
	})
}

func (w *world) submit(r events.Request) {
	w.t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.bus.Publish(w.t.Context(), events.Message{Subject: w.bus.Names().Request(), Body: body}, bus.Expect{}); err != nil {
		w.t.Fatal(err)
	}
}

// ended waits for the end of a job.
func (w *world) ended(job string) *events.JobEnded {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	var end *events.JobEnded
	w.await(ctx, w.bus.Names().JobEvents(job), func(e events.Event) bool {
		d, ok := e.Data.(*events.JobEnded)
		if ok {
			end = d
		}
		return ok
	})
	return end
}

// await reads the log from its beginning until f is true.
func (w *world) await(ctx context.Context, filter string, f func(events.Event) bool) {
	w.t.Helper()
	sub, err := w.bus.Log().Follow(ctx, filter, bus.FollowOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer sub.Stop()
	for {
		list, err := sub.Next(ctx, 512)
		if err != nil {
			w.t.Fatalf("waiting for %s: %v", filter, err)
		}
		for i := range list {
			if e, ok := list[i].Event(); ok && f(e) {
				return
			}
		}
	}
}

// saved waits until the kept state of a job satisfies f, and gives it.
func (w *world) saved(job string, f func(*graph.State) bool) *graph.State {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	found := make(chan *graph.State, 1)
	stop, err := w.bus.State().Watch(ctx, nil, func(e bus.Entry) {
		var s graph.State
		if e.Key == job && json.Unmarshal(e.Value, &s) == nil && f(&s) {
			select {
			case found <- &s:
			default:
			}
		}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stop()
	select {
	case s := <-found:
		return s
	case <-ctx.Done():
		w.t.Fatalf("state of %s: %v", job, ctx.Err())
		return nil
	}
}

// folded is the job as its log has it.
func (w *world) folded(job string) *graph.Job {
	w.t.Helper()
	j, err := graph.Fold(func(yield func(events.Event, error) bool) {
		for e, err := range w.bus.Log().EventsOf(w.t.Context(), job, 0) {
			if d, ok := e.Data.(*events.GraphCreated); ok && d.PlanRef != nil {
				data, err := w.bus.Blobs().Get(w.t.Context(), job, d.PlanRef.Digest)
				if err != nil {
					w.t.Fatal(err)
				}
				d.Plan = &events.Plan{}
				if err := json.Unmarshal(data, d.Plan); err != nil {
					w.t.Fatal(err)
				}
			}
			if e.Kind == events.KindJobAdvanced {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return j
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
