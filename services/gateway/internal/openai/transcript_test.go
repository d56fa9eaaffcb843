package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
)

// play is a transcript that a test feeds by hand.
type play struct {
	*testing.T
	openai.Transcript
	seq                uint64
	content, reasoning string
}

func (p *play) event(e events.Event) {
	p.Helper()
	p.seq++
	e.Seq, e.Job, e.ID = p.seq, "j", "e"
	musttest.Do(p, p.Event(&e))
	p.take(p.Early())
}

func (p *play) say(i item.Item) { p.take(p.Item(&i)) }

func (p *play) take(list []openai.Delta) {
	for _, d := range list {
		p.content, p.reasoning = p.content+d.Content, p.reasoning+d.Reasoning
	}
}

// begin starts a job with a plan.
func begin(t *testing.T, finalize string, steps ...events.SubJob) *play {
	t.Helper()
	p := &play{T: t, Transcript: openai.Transcript{User: "ann"}}
	p.event(events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{
		Request: events.Request{Goal: "g"}, Rules: events.Rules{Version: events.RulesVersion, Finalize: "tails", MaxPlanRounds: 3, Retries: 1, Lease: 1, LeaseMargin: 1},
	}})
	if len(steps) > 0 {
		p.event(events.Event{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: steps}, Finalize: finalize}})
	}
	return p
}

func step(id string, after ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: "do " + id, Title: "Title of " + id, Expert: "e", Pool: "p", Dependencies: after}
}

func text(subjob, id string, offset int, words string) item.Item {
	return item.Item{Type: item.Text, SubJob: subjob, Run: 1, ID: id, Offset: offset, Text: words}
}

// The text of the step that makes the result becomes the answer while it is written; all other texts are reasoning.
func TestTheLastStepWritesTheAnswer(t *testing.T) {
	p := begin(t, "", step("a"), step("b", "a"))
	p.say(text("a", "answer/1", 0, "looking"))
	p.say(item.Item{Type: item.Tool, SubJob: "a", Run: 1, ID: "tool/1", Tool: "fetch", Args: "x"})
	p.say(item.Item{Type: item.Tool, SubJob: "a", Run: 1, ID: "tool/1", Tool: "fetch", Done: true})
	p.say(item.Item{Type: item.Log, SubJob: "a", Run: 1, ID: "log", Text: "noise"})
	p.say(text("b", "answer/1", 0, "<deliv"))
	p.say(text("b", "answer/1", 6, "erable>The answer"))
	p.say(text("b", "answer/1", 6, "erable>The answer"))
	p.say(text("b", "answer/1", 23, " is 42"))
	if p.content != "The answer is 42" || p.reasoning != "Title of a: looking\n\nTitle of a: → fetch x" {
		t.Errorf("said %q, reasoned %q", p.content, p.reasoning)
	}
	for result, want := range map[string]string{"The answer is 42": "", "is 42": "", "The answer is 42, or so": ", or so", "Something else": "\n\nSomething else"} {
		q := begin(t, "", step("a"), step("b", "a"))
		q.say(text("b", "answer/1", 0, "The answer is 42"))
		if got := q.Finish(result); got != want || q.Said() != "The answer is 42"+want {
			t.Errorf("%q is completed by %q, want %q; said %q", result, got, want, q.Said())
		}
	}
	if q := begin(t, "", step("a")); q.Finish("all of it") != "all of it" {
		t.Error("an answer without live text")
	}
}

func TestATextThatBeginsAgainIsAParagraph(t *testing.T) {
	p := begin(t, "", step("a"))
	p.say(text("a", "answer/1", 0, "wrong"))
	p.say(text("a", "answer/1", 0, "right"))
	p.say(text("a", "answer/1", 0, "really"))
	p.say(text("a", "answer/2", 0, "second"))
	if p.content != "wrong\n\nright\n\nreally\n\nsecond" {
		t.Errorf("%q", p.content)
	}
}

// If several results are combined, or the result is written up, no step's text is the answer.
func TestWhoWritesTheAnswerDependsOnTheGraph(t *testing.T) {
	for _, test := range []struct {
		finalize string
		steps    []events.SubJob
		subjob   string
		id       string
		answers  bool
	}{
		{"", []events.SubJob{step("a"), step("b")}, "b", "answer/1", false},
		{"", []events.SubJob{step("a"), step("b", "a")}, "a", "answer/1", false},
		{"summary", []events.SubJob{step("a")}, "a", "answer/1", false},
		{"none", []events.SubJob{step("a")}, "a", "answer/1", false},
		{"", nil, events.PlanID, "triage/1/answer", true},
		{"", nil, events.PlanID, "draft/1/text", false},
	} {
		p := begin(t, test.finalize, test.steps...)
		p.say(text(test.subjob, test.id, 0, "x"))
		if got := p.content == "x"; got != test.answers || p.content+p.reasoning == "" {
			t.Errorf("%+v: said %q, reasoned %q", test, p.content, p.reasoning)
		}
	}
}

// Live items may come before the event that explains them.
func TestItemsWaitForTheirSubJob(t *testing.T) {
	p := begin(t, "")
	p.say(text("a", "answer/1", 0, "early"))
	if p.content+p.reasoning != "" {
		t.Error("said before it is known whose it is")
	}
	p.event(events.Event{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{step("a")}}}})
	if p.content != "early" {
		t.Errorf("said %q", p.content)
	}
}

func TestAQuestionToThePersonIsAnAnswer(t *testing.T) {
	for _, test := range []struct {
		asked events.InputRequested
		want  string
	}{
		{events.InputRequested{Kind: events.InputClarification, Prompt: "Which?\n" + item.Before + "\nUser: a", Options: []string{"red", "edit"}}, "Which?\n\n- red\n- edit"},
		{events.InputRequested{Kind: events.InputReview, Prompt: "The plan", Options: []string{"accept", "edit", "reject"}}, "The plan\n\n- accept\n- edit: what you want otherwise\n- reject"},
		{events.InputRequested{Kind: events.InputApproval, Prompt: "Pay?", User: "ann"}, "Pay?\n\n- yes\n- no"},
		{events.InputRequested{Kind: events.InputForm, Prompt: "Fill in", Schema: json.RawMessage(`{"type":"string"}`)}, "Fill in\n\nAnswer with JSON that fits this schema:\n{\"type\":\"string\"}"},
		{events.InputRequested{Kind: events.InputApproval, Prompt: "Pay?", User: "bob"}, ""},
		{events.InputRequested{Kind: events.InputTimer}, ""},
	} {
		p := begin(t, "")
		test.asked.Request = "q"
		p.event(events.Event{Kind: events.KindInputRequested, SubJob: events.PlanID, Run: 1, Key: "q", Data: &test.asked})
		q := p.Question()
		switch {
		case test.want == "" && q != nil:
			t.Errorf("%+v is put to another person: %+v", test.asked, q)
		case test.want != "" && (q == nil || q.Text != test.want || q.Request != "q" || q.Job != "j"):
			t.Errorf("%+v: %+v, want %q", test.asked, q, test.want)
		}
	}
}

// The cost before the person's answer belongs to the previous answer.
func TestAnAnswerCostsWhatWasSpentSinceThePersonSpoke(t *testing.T) {
	p := begin(t, "")
	p.Answered = "q"
	p.event(events.Event{Kind: events.KindInputRequested, SubJob: events.PlanID, Run: 1, Key: "q", Data: &events.InputRequested{Request: "q", Kind: events.InputClarification, Prompt: "?", Spent: events.Spent{Tokens: 30}}})
	p.event(events.Event{Kind: events.KindInputClosed, Key: "q", Data: &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"a"`)}})
	if p.Question() != nil {
		t.Error("it was answered")
	}
	p.event(events.Event{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 2, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{step("a")}}, Spent: events.Spent{Tokens: 12}}})
	if got := p.Spent().Tokens; got != 12 {
		t.Errorf("%d tokens", got)
	}
}
