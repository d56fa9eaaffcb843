package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// hand is a journal in memory.
type hand struct {
	mu   sync.Mutex // Guards kept.
	kept map[string]json.RawMessage
}

func (h *hand) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	h.mu.Lock()
	done, known := h.kept[e.Key]
	h.mu.Unlock()
	if known {
		return done, nil
	}
	result, err := call(ctx)
	if err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept[e.Key] = result
	}
	return result, err
}

func (h *hand) Progress(events.SubJobProgressed) {}

func (h *hand) Live([]byte) {}

// tools returns a run with these tools.
func tools(names []string, all map[string]tool.Tool) *run {
	h := &hand{kept: map[string]json.RawMessage{}}
	task := &expert.Task{Hand: h, Work: &events.Work{SubJob: "a", Run: 1}}
	return &run{
		Expert: &Expert{config: Config{Tools: names}}, tools: all, names: names, live: live{task: task}, asked: map[int]int{}, task: task,
	}
}

func asks(names ...string) *conversation.Command {
	c := &conversation.Command{Kind: conversation.Use, Number: 1}
	for i, name := range names {
		c.Calls = append(c.Calls, conversation.Call{ID: name, Name: name, Args: "{}"})
		c.Pending = append(c.Pending, i)
	}
	return c
}

func observed(facts []conversation.Fact) []string {
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Result)
	}
	return texts
}

// proves C-weakness-issue-68
// proves F-weakness-h-tool
// proves F-T7
func TestToolsOfOneAnswerRunSideBySideAndWhatEachGivesIsKept(t *testing.T) {
	var barrier sync.WaitGroup
	barrier.Add(2)
	meet := func(context.Context, tool.Call) (string, error) {
		barrier.Done()
		barrier.Wait() // Both must run concurrently to pass this.
		return "met", nil
	}
	r := tools([]string{"a", "b", "fails", "breaks", "empty"}, map[string]tool.Tool{
		"a": {Call: meet}, "b": {Call: meet},
		"fails":  {Call: func(context.Context, tool.Call) (string, error) { return "", errors.New("no luck") }},
		"breaks": {Call: func(context.Context, tool.Call) (string, error) { panic("bug") }},
		"empty":  {Call: func(context.Context, tool.Call) (string, error) { return "", nil }},
	})
	facts, park, err := r.use(t.Context(), asks("a", "fails", "b", "breaks", "empty", "gone"))
	if err != nil || park != nil {
		t.Fatal(park, err)
	}
	want := []string{
		"met", "Error: no luck", "met", "Error: the tool broke: bug", "(nothing)", `Error: there is no tool "gone", but a, b, breaks, empty, fails`,
	}
	musttest.Equal(t, want, observed(facts))
}

func TestLocalToolsRunInOrderAndAgainInANewWorkspace(t *testing.T) {
	var order []string
	local := func(name string) tool.Tool {
		return tool.Tool{Local: true, Call: func(context.Context, tool.Call) (string, error) {
			order = append(order, name)
			return name + " done", nil
		}}
	}
	r := tools([]string{"a", "b"}, map[string]tool.Tool{"a": local("a"), "b": local("b")})
	for range 2 { // The second time the journal answers, and the workspace is rebuilt.
		facts, _, err := r.use(t.Context(), asks("b", "a"))
		if err != nil {
			t.Fatal(err)
		}
		musttest.Equal(t, []string{"b done", "a done"}, observed(facts))
	}
	musttest.Equal(t, []string{"b", "a", "b", "a"}, order)
}

// Tools with a state are called in the order of the answer, whatever else it calls beside them.
//
// proves O2
func TestCallsOfToolsWithAStateKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		called := func(name string, after time.Duration) func(context.Context, tool.Call) (string, error) {
			return func(context.Context, tool.Call) (string, error) {
				<-time.After(after)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
				return name, nil
			}
		}
		r := tools([]string{"create", "mark", "other"}, map[string]tool.Tool{
			"create": {Ordered: true, Call: called("create", 2*time.Second)}, "mark": {Ordered: true, Call: called("mark", 0)},
			"other": {Call: called("other", time.Second)},
		})
		if _, _, err := r.use(t.Context(), asks("create", "other", "mark")); err != nil {
			t.Fatal(err)
		}
		musttest.Equal(t, []string{"other", "create", "mark"}, order)
	})
}

func TestACallThatIsCutOffIsNotKept(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r := tools([]string{"slow", "fast"}, map[string]tool.Tool{
		"slow": {Call: func(ctx context.Context, _ tool.Call) (string, error) { stop(); <-ctx.Done(); return "", ctx.Err() }},
	})
	if _, _, err := r.use(ctx, asks("slow")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if kept := r.task.Hand.(*hand).kept; len(kept) != 0 {
		t.Errorf("%v", kept)
	}
}

func TestAPersonIsAskedOneQuestionAtATime(t *testing.T) {
	r := tools([]string{AskPerson}, nil)
	c := asks(AskPerson, AskPerson, AskPerson)
	c.Calls[0].Args, c.Calls[1].Args, c.Calls[2].Args = `{}`, `{"question":"One?"}`, `{"question":"Two?"}`
	_, park, err := r.use(t.Context(), c)
	if err != nil || park == nil || park.Prompt != "One?" {
		t.Fatalf("%+v %v", park, err)
	}
	r.task.Work.Answers = map[string]events.InputClosed{park.Request: {Action: events.Answered, Answer: json.RawMessage(`{"n":1}`)}}
	r.task.Work.Run = 2
	_, park, err = r.use(t.Context(), c)
	if err != nil || park == nil || park.Prompt != "Two?" {
		t.Fatalf("%+v %v", park, err)
	}
	r.task.Work.Answers[park.Request] = events.InputClosed{Action: events.Cancelled}
	facts, park, err := r.use(t.Context(), c)
	if err != nil || park != nil {
		t.Fatal(park, err)
	}
	musttest.Equal(t, []string{"Error: bad arguments: question is needed", `{"n":1}`, "(no answer)"}, observed(facts))
}
