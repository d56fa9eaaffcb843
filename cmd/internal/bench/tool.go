package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/run"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

const (
	// mostToolMS limits the runner's time for a call of a tool that does nothing, in milliseconds, with the journal on.
	mostToolMS = 0.3
	// toolCalls is how many calls one agent makes in sequence; few, since a growing conversation is not to be measured.
	toolCalls = 10
	// toolWarmup is how many agents run before the measurement.
	toolWarmup = 20
	// callRecords is the number of journal records of a call: its intent and its result. A model call has as many.
	callRecords = 2
	// toolName is the name of the tool, toolSubject its subject.
	toolName    = "nothing"
	toolSubject = "bench.nothing"
)

// tool lets agents call a tool that does nothing, one call after another, and measures the time from when the model's answer is in
// the journal until the tool's is. That includes the call itself over the bus, and two journal records, each acknowledged before
// the next step. The baseline is exactly that, written by hand, alternating with the agents: one request to the same tool and two
// appends of the same size. The time of a whole turn, from the last byte of an answer to the next model call, is reported as well;
// it includes the model call with two records of its own.
func (p probe) tool(ctx context.Context) (list []Measure, err error) {
	if p.Under.Mode != ModeEmbedded {
		return nil, errors.New("workload tool holds model, runner and server in one process: use --mode embedded")
	}
	dir, err := os.MkdirTemp("", "jobgraph-bench-")
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s, at, err := newSolo(scene{log: p.log, fail: fail}, order{Store: filepath.Join(dir, "store"), SyncAlways: p.Under.Sync == SyncAlways})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	b, err := at.bus(ctx, "bench")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	r, err := newReader(at, "bench-reader")
	if err != nil {
		return nil, err
	}
	defer r.close()
	w := &toolWatch{reader: r, bus: b, dir: dir, model: llmtest.NewUnrecorded(llmtest.Func(callNothing))}
	if err := w.raise(ctx, s); err != nil {
		return nil, err
	}
	err = w.measure(ctx, (p.Size+toolCalls-1)/toolCalls)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return w.report(), err
}

// callNothing is the scripted model: it requests one call after another, and then ends.
func callNothing(q llmtest.Question) (llmtest.Answer, error) {
	made := 0
	for _, turn := range q.Turns {
		if turn.Role == "tool" {
			made++
		}
	}
	if made == toolCalls {
		return llmtest.Answer{Text: "done"}, nil
	}
	return llmtest.Answer{Calls: []llmtest.Call{{Name: toolName, Args: `{"n":` + strconv.Itoa(made) + `}`}}}, nil
}

// toolWatch observes the calls between the runner and its model, and serves the tool.
type toolWatch struct {
	*reader
	bus    *bus.Bus
	dir    string // The folder of card and configuration.
	model  *llmtest.Server
	served atomic.Int64 // How often the tool was called.
	record int          // The size of a journal record, in bytes.

	calls, turns, floors []time.Duration

	mu   sync.Mutex // Guards the rest, which belongs to one agent.
	said time.Time  // When the last byte of an answer was read; zero before the first.
	seen []time.Duration
	kept []time.Time // When the journal got an answer: the model's, the tool's, the model's, and so on.
}

// raise prepares the streams, serves the tool and starts the runner.
func (w *toolWatch) raise(ctx context.Context, s *solo) error {
	if err := w.bus.Streams().Init(ctx); err != nil {
		return fmt.Errorf("prepare the bus: %w", err)
	}
	card, config := filepath.Join(w.dir, "agent.md"), filepath.Join(w.dir, "jobgraph.yaml")
	for path, text := range map[string]string{
		card:   "---\nid: " + expertID + "\nname: " + expertID + "\nkind: llm\ntools: [" + toolName + "]\n---\nYou call your tool.\n",
		config: "version: 1\ntools:\n  " + toolName + ": {subject: " + toolSubject + ", description: Does nothing.}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("make agent: %w", err)
		}
	}
	if _, err := w.nc.Subscribe(toolSubject, func(m *nats.Msg) {
		w.served.Add(1)
		_ = m.Respond([]byte(`"ok"`)) // The client notices a missing answer.
	}); err != nil {
		return fmt.Errorf("serve the tool: %w", err)
	}
	if err := w.nc.Flush(); err != nil {
		return fmt.Errorf("serve the tool: %w", err)
	}
	settings := runner.Default()
	settings.Experts, settings.Model, settings.BaseURL, settings.WorkDir = []string{card}, "scripted", "http://scripted.invalid/v1", w.dir
	return s.add(ctx, configured("expert-runner", kit{Config: config}, func(ctx context.Context, p *host.Process, b *bus.Bus) error {
		return runner.Run(ctx, p, settings, runner.Deps{Bus: b, Doer: w, Hook: w.at})
	}))
}

// measure runs agents, and after each of them as many turns of the baseline as it made calls.
func (w *toolWatch) measure(ctx context.Context, n int) error {
	reports, err := w.listen(2*(n+toolWarmup), w.bus.Names().Prefix()+".event.*.*."+string(events.KindSubJobReported)+".>")
	if err != nil {
		return err
	}
	defer reports.stop()
	for i := range toolWarmup + n {
		if i == toolWarmup {
			w.calls, w.turns, w.floors = nil, nil, nil
		}
		if err := w.one(ctx, reports, "tool-"+strconv.Itoa(i)); err != nil {
			return err
		}
		for k := range toolCalls {
			if err := w.floor(ctx, i*toolCalls+k); err != nil {
				return fmt.Errorf("floor: %w", err)
			}
		}
	}
	return nil
}

// one issues an agent's work as the scheduler does, waits for its report, and checks that everything was done and
// journaled.
func (w *toolWatch) one(ctx context.Context, reports *ends, job string) error {
	w.mu.Lock()
	w.said, w.seen, w.kept = time.Time{}, nil, nil
	w.mu.Unlock()
	before := w.served.Load()
	body, err := events.Marshal(&events.Work{
		Kind: events.WorkExecute, Job: job, SubJob: "a", Run: 1, Attempt: 1, Goal: "call your tool", LifeCycle: 1,
		Lease: events.Duration(10 * time.Second), IdempotencyKey: run.ID(job, "a", 1), Spec: events.SubJob{ID: "a", Goal: "call your tool", Expert: expertID},
	})
	if err != nil {
		return err
	}
	subject := w.bus.Names().WorkFor(events.DefaultPool, expertID, job, "a", 1)
	if _, err := w.bus.Publish(ctx, events.Message{Subject: subject, Body: body}, bus.ExpectNone()); err != nil {
		return fmt.Errorf("issue work: %w", err)
	}
	waiting, cancel := patience(ctx, toolCalls)
	defer cancel()
	_, said, err := reports.next(waiting)
	if err != nil {
		return fmt.Errorf("wait for the report of %s: %w", job, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if calls := w.served.Load() - before; calls != toolCalls || len(w.seen) != toolCalls || len(w.kept) != 2*toolCalls+1 {
		return fmt.Errorf("%s made %d calls in %d turns, not %d: %.500s", job, calls, len(w.seen), toolCalls, said)
	}
	w.turns = append(w.turns, w.seen...)
	for i := range toolCalls {
		w.calls = append(w.calls, w.kept[2*i+1].Sub(w.kept[2*i]))
	}
	return w.journaled(ctx, job)
}

// journaled returns an error unless intent and result of every call are in the journal; it also measures the size of
// records.
func (w *toolWatch) journaled(ctx context.Context, job string) error {
	entries, _, err := w.bus.Journal(job, "a").Read(ctx)
	if err != nil {
		return err
	}
	records, size := 0, 0
	for i := range entries {
		if t := entries[i].Type; entries[i].Key != "" && (t == events.JournalIntent || t == events.JournalResult) {
			records, size = records+1, size+len(entries[i].Data)
		}
	}
	// One model call more than tool calls: the last answer requests none. A claim may contain the first intent.
	if want := 2*callRecords*toolCalls + 1; records < want {
		return fmt.Errorf("%s has %d records of its calls in the journal, want at least %d", job, records, want)
	}
	w.record = size / records
	return nil
}

// floor makes one call as a program written by hand would, and records how long it took.
func (w *toolWatch) floor(ctx context.Context, i int) error {
	subject, body := w.bus.Names().JournalOf("floor", "f"+strconv.Itoa(i)), make([]byte, w.record)
	begin, last := time.Now(), uint64(0)
	for k := range callRecords {
		if k == callRecords/2 {
			if _, err := w.nc.RequestWithContext(ctx, toolSubject, []byte(`{"n":0}`)); err != nil {
				return err
			}
		}
		ack, err := w.js.Publish(ctx, subject, body, jetstream.WithExpectLastSequencePerSubject(last))
		if err != nil {
			return err
		}
		last = ack.Sequence
	}
	w.floors = append(w.floors, time.Since(begin))
	return nil
}

// report returns the measures. The limit applies to the total; the baseline is shown beside it, not subtracted.
func (w *toolWatch) report() []Measure {
	for _, list := range [][]time.Duration{w.calls, w.turns, w.floors} {
		slices.Sort(list)
	}
	call, floor := millis(quantile(w.calls, 0.5)), millis(quantile(w.floors, 0.5))
	return []Measure{
		limited("a call with its journal, p50", "ms", call, mostToolMS),
		value("a call with its journal, p99", "ms", millis(quantile(w.calls, 0.99))),
		value("floor: one request to the tool and two appends, p50", "ms", floor),
		value("floor, p99", "ms", millis(quantile(w.floors, 0.99))),
		value("what the runner adds to the floor, p50", "ms", call-floor),
		value("a whole turn, from the model's last byte to its next question, p50", "ms", millis(quantile(w.turns, 0.5))),
		value("a whole turn, p99", "ms", millis(quantile(w.turns, 0.99))),
	}
}

// at is called at each boundary between two effects of the runner.
func (w *toolWatch) at(point, _ string) error {
	now := time.Now()
	if point == "result" {
		w.mu.Lock()
		w.kept = append(w.kept, now)
		w.mu.Unlock()
	}
	return nil
}

// Do implements llm.Doer with the scripted model, and observes its requests and the ends of its answers.
func (w *toolWatch) Do(r *http.Request) (*http.Response, error) {
	now := time.Now()
	w.mu.Lock()
	if !w.said.IsZero() {
		w.seen = append(w.seen, now.Sub(w.said))
	}
	w.mu.Unlock()
	answer, err := w.model.Do(r)
	if err == nil {
		answer.Body = &lastByte{answer.Body, func() {
			now := time.Now()
			w.mu.Lock()
			w.said = now
			w.mu.Unlock()
		}}
	}
	return answer, err
}
