package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/run"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// Limits of planning from the last byte of a model's answer to the acknowledged graph.created, for a plan of ten SubJobs.
const (
	planSteps  = 10
	mostPlanMS = 2
	mostPlanKB = 100
	planWarmup = 50
)

// plan makes the planner plan with a scripted model in this process, one plan after another, and measures the time from the last
// byte of the model's answer to the acknowledgement of graph.created. Time and memory are measured separately, since measuring
// memory stops the world. All allocations of the process count, including the embedded server's.
func (p probe) plan(ctx context.Context) (list []Measure, err error) {
	if p.Under.Mode != ModeEmbedded {
		return nil, errors.New("workload plan holds model, planner and server in one process: use --mode embedded")
	}
	store, err := os.MkdirTemp("", "jobgraph-bench-")
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(store)) }()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s, at, err := newSolo(scene{log: p.log, fail: fail}, order{Store: store, SyncAlways: p.Under.Sync == SyncAlways})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	b, err := at.bus(ctx, "bench")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	w := &planWatch{model: llmtest.NewUnrecorded(llmtest.Func(tenSteps)), acked: make(chan struct{}, 1)}
	if err := w.raise(ctx, s, b); err != nil {
		return nil, err
	}
	times, sizes, err := w.measure(ctx, b, p.Size)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	slices.Sort(sizes)
	return []Measure{
		limited("last model byte to graph.created acknowledged, p50", "ms", millis(quantile(times, 0.5)), mostPlanMS),
		value("last model byte to graph.created acknowledged, p99", "ms", millis(quantile(times, 0.99))),
		limited("allocated meanwhile by the whole process, p50", "kB", float64(sizes[len(sizes)/2])/1000, mostPlanKB),
		value("allocated meanwhile by the whole process, p99", "kB", float64(sizes[len(sizes)*99/100])/1000),
	}, nil
}

// tenSteps is the scripted model: for a decision it says to plan, for a plan it returns ten steps.
func tenSteps(q llmtest.Question) (llmtest.Answer, error) {
	if q.Schema != nil && !slices.Contains(schemaFields(q.Schema), "subjobs") {
		return llmtest.Answer{Text: `{"decision":"hand_on"}`}, nil
	}
	p := events.Plan{Title: "Ten steps"}
	for i := range planSteps {
		step := events.SubJob{ID: "n" + strconv.Itoa(i), Goal: "step " + strconv.Itoa(i) + " of the goal", CompletionCriteria: "it is done", Expert: expertID}
		if i > 0 {
			step.Dependencies = []string{"n" + strconv.Itoa(i-1)}
		}
		p.SubJobs = append(p.SubJobs, step)
	}
	text, err := events.Marshal(&p)
	return llmtest.Answer{Text: string(text)}, err
}

// schemaFields names the properties of a JSON Schema.
func schemaFields(schema json.RawMessage) []string {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &form) != nil {
		return nil
	}
	var names []string
	for name := range form.Properties { // any order: the list is searched.
		names = append(names, name)
	}
	return names
}

// planWatch observes the calls between the planner and its model, and each boundary between two effects of the planner.
type planWatch struct {
	model *llmtest.Server
	acked chan struct{} // Receives a value when the work of a plan is acknowledged.

	mu       sync.Mutex // Guards the rest.
	counting bool       // If true, memory is measured instead of time.
	last     time.Time  // When the model's last byte was read, and when graph.created was acknowledged.
	done     time.Time
	before   uint64 // The allocations at these two times.
	after    uint64
}

// raise prepares the streams and starts the planner.
func (w *planWatch) raise(ctx context.Context, s *solo, b *bus.Bus) error {
	if err := b.Streams().Init(ctx); err != nil {
		return fmt.Errorf("prepare the bus: %w", err)
	}
	card, err := json.Marshal(events.Card{ID: expertID, Name: expertID, Tags: []string{"default"}})
	if err != nil {
		return err
	}
	if _, err := b.Experts().Put(ctx, expertID, card, 0); err != nil {
		return fmt.Errorf("announce the expert: %w", err)
	}
	engine, err := llm.New(llm.Single("", "http://scripted.invalid/v1", "scripted"), llm.Settings{Doer: w})
	if err != nil {
		return err
	}
	return s.add(ctx, service("planner", func(ctx context.Context, p *host.Process, b *bus.Bus) error {
		defer engine.Close()
		return planner.Run(ctx, p, planner.Default(), planner.Deps{Bus: b, Model: engine, ModelName: "scripted", Hook: w.at})
	}))
}

// measure lets the planner make plans, half of them to measure time, the other half to measure memory.
func (w *planWatch) measure(ctx context.Context, b *bus.Bus, n int) (times []time.Duration, sizes []uint64, err error) {
	for i := range planWarmup + 2*n {
		w.mu.Lock()
		w.counting, w.last, w.done = i >= planWarmup+n, time.Time{}, time.Time{}
		w.mu.Unlock()
		if err := w.one(ctx, b, "plan-"+strconv.Itoa(i)); err != nil {
			return nil, nil, err
		}
		w.mu.Lock()
		seen := !w.last.IsZero() && !w.done.Before(w.last)
		switch {
		case !seen || i < planWarmup:
		case w.counting:
			sizes = append(sizes, w.after-w.before)
		default:
			times = append(times, w.done.Sub(w.last))
		}
		w.mu.Unlock()
		if !seen {
			return nil, nil, errors.New("the end of a model's answer was not seen before its graph was acknowledged")
		}
	}
	return times, sizes, planned(ctx, b, "plan-0")
}

// planned returns an error unless a job has the graph that the model wrote, since anything else would be cheaper.
func planned(ctx context.Context, b *bus.Bus, job string) error {
	for e, err := range b.Log().EventsOf(ctx, job, 0) {
		if err != nil {
			return err
		}
		if created, ok := e.Data.(*events.GraphCreated); ok && created.Plan != nil && len(created.Plan.SubJobs) == planSteps && len(created.Warnings) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s has no graph of %d SubJobs", job, planSteps)
}

// one issues planning work as the scheduler does, and waits until it is settled.
func (w *planWatch) one(ctx context.Context, b *bus.Bus, job string) error {
	body, err := events.Marshal(&events.Work{
		Kind: events.WorkPlan, Job: job, SubJob: events.PlanID, Run: 1, Attempt: 1, MaxSteps: 1000, Lease: events.Duration(10 * time.Second),
		IdempotencyKey: run.ID(job, events.PlanID, 1), Request: &events.Request{Goal: "a goal of ten steps"},
	})
	if err != nil {
		return err
	}
	subject := b.Names().WorkFor(events.PlannerPool, events.PlannerExpert, job, events.PlanID, 1)
	if _, err := b.Publish(ctx, events.Message{Subject: subject, Body: body}, bus.ExpectNone()); err != nil {
		return fmt.Errorf("issue planning work: %w", err)
	}
	if _, err := await(ctx, w.acked); err != nil {
		return fmt.Errorf("wait for the end of planning of %s: %w", job, err)
	}
	return nil
}

// at is called at each boundary between two effects of the planner.
func (w *planWatch) at(point string) error {
	switch point {
	case "published":
		w.mark(&w.done, &w.after)
	case "acked":
		w.acked <- struct{}{}
	}
	return nil
}

func (w *planWatch) mark(at *time.Time, allocated *uint64) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	*at = now
	if w.counting {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		*allocated = m.TotalAlloc
	}
}

// Do implements llm.Doer with the scripted model's answer, and observes its end.
func (w *planWatch) Do(r *http.Request) (*http.Response, error) {
	answer, err := w.model.Do(r)
	if err == nil {
		answer.Body = &lastByte{answer.Body, func() { w.mark(&w.last, &w.before) }}
	}
	return answer, err
}

// lastByte marks the end of an answer.
type lastByte struct {
	io.ReadCloser
	mark func()
}

// Read implements io.Reader. A stream is not read past its end, so every byte may be the last.
func (b *lastByte) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.mark()
	}
	return n, err
}
