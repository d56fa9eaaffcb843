package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// story is a SubJob whose runs are journaled in memory, as the loop does.
type story struct {
	mu      sync.Mutex // Guards journal.
	journal []jobrun.Entry
	answers map[string]events.InputClosed
	run     int
}

func (s *story) add(r events.JournalRecord) {
	r.Run = s.run
	s.journal = append(s.journal, jobrun.Entry{JournalRecord: r, Seq: uint64(len(s.journal) + 1), Time: time.Unix(int64(len(s.journal)), 0)})
}

func (s *story) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	s.mu.Lock()
	for _, was := range s.journal {
		if r := &was; r.Type == events.JournalResult && r.Key == e.Key && r.Reason == "" {
			s.mu.Unlock()
			return r.Data, nil
		}
	}
	s.add(events.JournalRecord{Type: events.JournalIntent, Key: e.Key, Name: e.Name, Data: e.Args})
	s.mu.Unlock()
	result, err := call(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := events.JournalRecord{Type: events.JournalResult, Key: e.Key, Name: e.Name, Data: result}
	if err != nil {
		r.Data, r.Reason = nil, "failed: "+err.Error()
	}
	s.add(r)
	return result, err
}

func (s *story) Progress(events.SubJobProgressed) {}

func (s *story) Live([]byte) {}

// told runs the agent once, as the next run of the SubJob, and journals the end.
func (s *story) told(t *testing.T, c Config, w events.Work) task.Ending {
	t.Helper()
	s.run++
	w.SubJob, w.Run, w.Answers = "a", s.run, s.answers
	claim := events.JournalRecord{Type: events.JournalClaimed}
	if s.run > 1 {
		claim.Data = json.RawMessage(fmt.Sprintf(`{"resume_of":%d}`, s.run-1))
	}
	s.add(claim)
	x := musttest.Get(New(c))(t)
	defer x.Close()
	e := x.Run(t.Context(), &expert.Task{Work: &w, Hand: s})
	var data any = e.Park
	if e.Report != nil {
		e.Sign("runner", time.Unix(1, 0), time.Unix(2, 0))
		data = e.Report
	}
	body := musttest.Get(events.Marshal(data))(t)
	s.add(events.JournalRecord{Type: events.JournalReported, Name: string(e.Kind()), Data: body})
	return e
}

func (s *story) recording(records int) *Recording {
	return &Recording{SubJob: "a", Journal: s.journal[:records], Answers: s.answers}
}

// words is a model that gives prepared answers in order, or errors in their place.
type words struct {
	said []any
	next int
}

func (m *words) Do(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	m.next++
	switch said := m.said[m.next-1].(type) {
	case error:
		return llm.Response{}, said
	case []llm.Call:
		return llm.Response{Calls: said, Usage: llm.Usage{Prompt: 10, Completion: 1}}, nil
	default:
		return llm.Response{Text: said.(string), Usage: llm.Usage{Prompt: 10, Completion: 1}}, nil
	}
}

// box has two tools: one returns a long text, one fails.
type box struct{}

func (box) Owns(name string) bool { return name == "dig" || name == "fail" }

func (box) Open(_ context.Context, names []string) ([]tool.Tool, error) {
	return []tool.Tool{{Name: names[0], Schema: json.RawMessage(`{}`), Call: func(context.Context, tool.Call) (string, error) {
		if names[0] == "fail" {
			return "", errors.New("no luck")
		}
		return strings.Repeat("gold ", 500), nil
	}}}, nil
}

func call(names ...string) []llm.Call {
	var calls []llm.Call
	for i, name := range names {
		args := `{}`
		if name == AskPerson {
			args = `{"question":"Which?"}`
		}
		calls = append(calls, llm.Call{ID: fmt.Sprint("c", i), Name: name, Args: args})
	}
	return calls
}

// scenarios are complete conversations of every kind.
func scenarios(t *testing.T) map[string]*story {
	t.Helper()
	schema := json.RawMessage(`{"type":"object","required":["n"]}`)
	tools := []string{"dig", "fail", AskPerson, "terminate"}
	garbled := &llm.Error{Class: llm.Malformed, Status: 400, Model: "m", Message: "Failed to call a function: <dig>"}
	tooLong := &llm.Error{Class: llm.ContextTooLong, Model: "m", Message: "too long"}
	all := map[string]*story{}
	steps := []Step{
		{Step: conversation.Step{ID: "find", Instruction: "Find."}, Tools: []string{"dig"}},
		{Step: conversation.Step{ID: "tell", Instruction: "Tell."}, Tools: []string{AskPerson}},
	}
	judge := Evaluator{On: true}
	for name, of := range map[string]struct {
		config Config
		work   events.Work
		said   []any
		runs   int
	}{
		"two voices":       {config: Config{Tools: tools, Mode: conversation.Dual()}, said: []any{"dig first", call("dig"), "and then", "<deliverable>found</deliverable>"}},
		"workflow":         {config: Config{Tools: tools, Workflow: steps}, said: []any{call("dig"), "gold", call("fly"), "much gold"}},
		"steps and people": {config: Config{Tools: tools, Workflow: steps}, said: []any{call("dig"), "gold", call(AskPerson), "for you"}, runs: 2},
		"a step fails":     {config: Config{Tools: tools, Workflow: steps}, said: []any{call("dig"), errors.New("gone")}},
		"next step fails":  {config: Config{Tools: tools, Workflow: steps}, said: []any{"gold", call("fly"), errors.New("gone")}},
		"no budget left":   {config: Config{Tools: tools, Workflow: steps, MaxTokens: 15}, said: []any{call("dig"), call("dig")}},
		"none for a step":  {config: Config{Tools: tools, Workflow: steps, MaxTokens: 11}, said: []any{"gold"}},
		"one summary":      {config: Config{Tools: tools, Workflow: steps, MaxTokens: 11, Summary: true}, said: []any{"gold", "that was it"}},
		"accepted":         {config: Config{Tools: tools, Evaluator: judge}, said: []any{call("dig"), "gold", `{"status":"SUCCESS"}`}},
		"refused":          {config: Config{Evaluator: judge}, said: []any{"gold", `{"status":"GREAT"}`, `{"status":"EXECUTION_ERROR","lesson":"dig"}`}},
		"inputs at fault":  {config: Config{Workflow: steps[:1], Tools: tools, Evaluator: judge}, work: events.Work{Results: map[string]events.Result{"b": {Output: json.RawMessage("1")}}}, said: []any{"gold", `{"status":"INPUT_DATA_ERROR"}`}},
		"not evaluated":    {config: Config{Evaluator: judge}, said: []any{"gold", "well", "well"}},
		"plain":            {said: []any{"hello"}},
		"tools":            {config: Config{Tools: tools}, said: []any{call("dig", "fail", "fly"), call("dig"), "<deliverable>found</deliverable>"}},
		"written call":     {config: Config{Tools: tools}, said: []any{`<function_call>{"name":"dig","args":{}}</function_call>`, "found"}},
		"repaired":         {config: Config{Schema: schema}, said: []any{`{"m":1}`, `{"n":1}`}},
		"never repaired":   {config: Config{Schema: schema}, said: []any{`{"m":1}`, `{"m":2}`}},
		"gives up":         {config: Config{Tools: tools}, said: []any{[]llm.Call{{ID: "x", Name: "terminate", Args: `{"status":"too_complicated","reason":"no"}`}}}},
		"turns used up":    {config: Config{Tools: tools, MaxTurns: 2}, said: []any{call("dig"), call("dig")}},
		"summary":          {config: Config{Tools: tools, MaxTurns: 2, Summary: true}, said: []any{call("dig"), call("dig"), "little"}},
		"budget of job":    {config: Config{Tools: tools}, work: events.Work{Budget: events.Spent{Tokens: 15}}, said: []any{call("dig"), call("dig")}},
		"compressed":       {config: Config{Tools: tools, Context: 800}, said: []any{call("dig"), call("dig"), call("fail"), "done"}},
		"required":         {config: Config{Tools: tools, Required: []string{"dig"}}, said: []any{"done", call("dig"), "done now"}},
		"repeats itself":   {config: Config{Tools: tools}, said: []any{call("fail"), call("fail"), call("fail"), call("fail")}},
		"a person":         {config: Config{Tools: tools}, said: []any{call("dig", AskPerson), "as you like"}, runs: 2},
		"model fails":      {config: Config{Tools: tools}, said: []any{call("dig"), errors.New("gone")}},
		"model says less":  {config: Config{Tools: tools}, said: []any{call("dig"), tooLong, "short"}},
		"unreadable":       {config: Config{Tools: tools}, said: []any{call("dig"), garbled, call("dig"), garbled, garbled, "done"}},
		"never readable":   {config: Config{Tools: tools}, said: []any{garbled, garbled, garbled}},
		"too long":         {config: Config{Tools: tools}, said: []any{call("fail"), tooLong}},
	} {
		s := &story{answers: map[string]events.InputClosed{}}
		of.config.Client, of.config.Toolboxes, of.work.Goal = &words{said: of.said}, []Toolbox{box{}}, "dig"
		for run := range max(of.runs, 1) {
			e := s.told(t, of.config, of.work)
			if e.Park != nil {
				s.answers[e.Park.Request] = events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"this one"`)}
			}
			if last := run+1 == max(of.runs, 1); last != (e.Report != nil) {
				t.Fatalf("%s: run %d ended with %+v", name, run+1, e)
			}
		}
		all[name] = s
	}
	return all
}

func TestAConversationIsHadAgainFromItsJournalAndEndsAsReported(t *testing.T) {
	for name, s := range scenarios(t) {
		rec := s.recording(len(s.journal))
		if diff := cmp.Diff([]int{s.run}, rec.Conversations()); diff != "" {
			t.Errorf("%s: conversations (-want +got):\n%s", name, diff)
		}
		r, err := rec.Replay(s.run)
		if err != nil || r.State != ReplaySame || r.Ending == nil {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}

func TestAReplayGoesAsFarAsTheJournal(t *testing.T) {
	for name, s := range scenarios(t) {
		for records := range len(s.journal) {
			rec := s.recording(records)
			for _, run := range rec.Conversations() {
				if r, err := rec.Replay(run); err != nil || r.State != ReplayOpen || r.Reason == "" {
					t.Errorf("%s: %d records: %v %+v", name, records, err, r)
				}
			}
		}
	}
}

// tampered returns the journal of a conversation with the text of one record changed.
func tampered(t *testing.T, s *story, key, from, to string) *Recording {
	t.Helper()
	rec := s.recording(len(s.journal))
	rec.Journal = append([]jobrun.Entry(nil), rec.Journal...)
	changed := false
	for i := range rec.Journal {
		if r := &rec.Journal[i]; r.Key == key && strings.Contains(string(r.Data), from) {
			r.Data, changed = json.RawMessage(strings.Replace(string(r.Data), from, to, 1)), true
		}
	}
	if !changed {
		t.Fatalf("no %q in %s", from, key)
	}
	return rec
}

func TestAReplayTellsTheRecordAtWhichItDiverges(t *testing.T) {
	all := scenarios(t)
	for name, of := range map[string]struct {
		rec    *Recording
		seq    uint64
		reason string
	}{
		"another answer":    {tampered(t, all["plain"], "model/1", `"hello"`, `"goodbye"`), 4, "the report is not what the journal has"},
		"another tool":      {tampered(t, all["tools"], "model/2", `"dig"`, `"fail"`), 11, "tool/2/0 is not what the journal has"},
		"another question":  {tampered(t, all["tools"], "model/2", `"messages":6`, `"messages":5`), 8, "question model/2 is not what the journal has"},
		"ends too early":    {tampered(t, all["tools"], "model/1", `"calls":[`, `"text":"done","was":[`), 9, "the journal goes on with model/2"},
		"goes on":           {tampered(t, all["written call"], "model/2", `"found"`, `"<function_call>{\"name\":\"dig\",\"args\":{}}</function_call>"`), 8, "the journal does not have"},
		"another part":      {tampered(t, all["workflow"], "model/3", `"part":"tell"`, `"part":"sell"`), 9, "the journal has the part \"sell\" where another one comes"},
		"another voice":     {tampered(t, all["two voices"], "model/2", `"voice":"actor"`, `"voice":"thinker"`), 4, "question model/2 is not what the journal has"},
		"other verdict":     {tampered(t, all["accepted"], "model/3", `SUCCESS`, `EXECUTION_ERROR`), 10, "the report is not what the journal has"},
		"other compression": {tampered(t, all["compressed"], "model/3", `"to":`, `"to":1`), 10, "question model/3 is not what the journal has"},
	} {
		r, err := of.rec.Replay(1)
		if err != nil || r.State != ReplayDiverged || r.Seq != of.seq || !strings.Contains(r.Reason, of.reason) {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}

func TestAJournalWithoutABeginningIsNotReplayed(t *testing.T) {
	rec := tampered(t, scenarios(t)["plain"], "model/1", `"began"`, `"begun"`)
	if r, err := rec.Replay(1); !errors.Is(err, ErrNoBeginning) {
		t.Errorf("%v %+v", err, r)
	}
}
