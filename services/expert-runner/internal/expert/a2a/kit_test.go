package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// hand is a journal in memory.
type hand struct {
	mu       sync.Mutex // Guards the fields below: who watches may look while a run goes on.
	effects  []expert.Effect
	results  map[string]json.RawMessage
	live     []string
	progress []string
	items    []item.Item
	// kept is called when a result is in the journal.
	kept func(key string)
}

func (h *hand) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	h.mu.Lock()
	h.effects = append(h.effects, e)
	known, done := h.results[e.Key]
	h.mu.Unlock()
	if done {
		return known, nil
	}
	result, err := call(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	if h.results == nil {
		h.results = map[string]json.RawMessage{}
	}
	h.results[e.Key] = result
	h.mu.Unlock()
	if h.kept != nil {
		h.kept(e.Key)
	}
	return result, ctx.Err()
}

func (h *hand) Progress(p events.SubJobProgressed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = append(h.progress, p.Message)
}

func (h *hand) Live(body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = append(h.live, string(body))
}

func work() *events.Work {
	return &events.Work{
		Kind: events.WorkExecute, Job: "j1", SubJob: "ask", Run: 1, Attempt: 1, Goal: "Find the box", Context: "hall 2", IdempotencyKey: "j1/ask/1",
		Locale: "de", Inputs: map[string]json.RawMessage{"n": json.RawMessage(`3`)},
		Results: map[string]events.Result{"a": {Output: json.RawMessage(`{"hall":2}`)}},
	}
}

// resumed returns the run that an answer to a request of run 1 starts.
func resumed(request, answer string) *events.Work {
	w := work()
	w.Run, w.ResumeOf, w.IdempotencyKey = 2, 1, "j1/ask/2"
	w.Answers = map[string]events.InputClosed{request: {Action: events.Answered, Answer: json.RawMessage(answer)}}
	return w
}

func expertOf(tb testing.TB, c a2a.Config) *a2a.Expert {
	tb.Helper()
	if c.PollInterval == 0 {
		c.PollInterval = 20 * time.Millisecond
	}
	return musttest.Get(a2a.New(c, tb.TempDir()))(tb)
}

func runWork(tb testing.TB, c a2a.Config, h *hand, w *events.Work) task.Ending {
	tb.Helper()
	return expertOf(tb, c).Run(tb.Context(), taskOf(h, w))
}

func taskOf(h *hand, w *events.Work) *expert.Task {
	return &expert.Task{Work: w, Hand: h, Log: slog.New(slog.DiscardHandler), Items: func(i item.Item) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.items = append(h.items, i)
	}}
}

// lost is a run whose runner dies as soon as the message with its task is in the journal.
func lost(tb testing.TB, c a2a.Config, h *hand) {
	tb.Helper()
	ctx, cancel := context.WithCancelCause(tb.Context())
	h.kept = func(key string) {
		if strings.HasSuffix(key, "/send") {
			cancel(errElsewhere)
		}
	}
	expertOf(tb, c).Run(ctx, taskOf(h, work()))
	h.kept = nil
}

// way is one way to communicate with an agent.
type way struct {
	name  string
	agent a2atest.Settings
	mode  a2a.Mode
}

// ways returns all supported versions, bindings and modes.
func ways() []way {
	return []way{
		{"1.0 stream", a2atest.Settings{Streaming: true}, ""},
		{"1.0 poll", a2atest.Settings{}, ""},
		{"1.0 REST stream", a2atest.Settings{REST: true, Streaming: true}, ""},
		{"1.0 REST poll", a2atest.Settings{REST: true}, ""},
		{"0.3 stream", a2atest.Settings{Old: true, Streaming: true}, ""},
		{"0.3 poll", a2atest.Settings{Old: true, Streaming: true}, a2a.ModePoll},
	}
}

// everyWay runs a test with every kind of agent.
func everyWay(t *testing.T, play a2atest.Play, test func(t *testing.T, agent *a2atest.Agent, c a2a.Config)) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			agent := a2atest.Start(t, w.agent, play)
			test(t, agent, a2a.Config{Agent: agent.URL, Mode: w.mode})
		})
	}
}

// succeeded checks for a SUCCESS with an output.
func succeeded(t *testing.T, e task.Ending, output string) {
	t.Helper()
	if e.Report == nil || e.Report.Outcome != events.Success || string(e.Report.Output) != output {
		t.Fatalf("%+v, want %s", e, shown(e))
	}
}

// failed checks for an EXECUTION_ERROR with a code and a word in its text.
func failed(t *testing.T, e task.Ending, code events.Code, word string) {
	t.Helper()
	if e.Report == nil || e.Report.Error == nil || e.Report.Error.Code != code || !strings.Contains(e.Report.Error.Error(), word) {
		t.Fatalf("want %s with %q, got %s", code, word, shown(e))
	}
}

func shown(e task.Ending) string {
	raw, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(raw[:min(len(raw), 2000)])
}

var errElsewhere = errors.New("another runner goes on")
