package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// proves C30
func TestAnEvaluationTakesTheGravestOfItsOutcomes(t *testing.T) {
	for _, test := range []struct {
		raw    string
		inputs bool
		want   events.Outcome
	}{
		{`{"status":"SUCCESS","evaluation":"fine"}`, true, events.Success},
		{`{"status":"WorkflowStatus.EXECUTION_ERROR"}`, true, events.ExecutionError},
		{`{"status":"SUCCESS | INPUT_DATA_ERROR"}`, true, events.InputDataError},
		{`{"status":["JOB_TOO_COMPLICATED_ERROR","INPUT_DATA_ERROR","EXECUTION_ERROR"]}`, true, events.ExecutionError},
		{`{"status":["SUCCESS","JOB_TOO_COMPLICATED"]}`, true, events.TooComplicated},
		{`{"status":"INPUT_DATA_ERROR"}`, false, events.ExecutionError},
		{`{"status":"success"}`, false, events.Success},
	} {
		got, ok := conversation.ReadEvaluation([]byte(test.raw), test.inputs)
		if !ok || got.Outcome != test.want {
			t.Errorf("%s: %+v %v", test.raw, got, ok)
		}
	}
	for _, raw := range []string{`{}`, `[]`, `{"status":"GREAT"}`, `{"status":null}`, `{"status":[{}]}`, `{"status":7}`, `{"status":`} {
		if got, ok := conversation.ReadEvaluation([]byte(raw), true); ok {
			t.Errorf("%s: %+v", raw, got)
		}
	}
	got, _ := conversation.ReadEvaluation([]byte(`{"status":"SUCCESS","evaluation":{"n":1},"lesson":null}`), true)
	musttest.Equal(t, conversation.Evaluation{Outcome: events.Success, Evaluation: `{"n":1}`}, got)
}

// proves C-T6
func TestAResultThatIsAcceptedStaysAsItIs(t *testing.T) {
	result := conversation.Ending{Outcome: events.Success, Output: json.RawMessage(`{"a":[1,  2]}`)}
	accepted := conversation.Evaluation{Outcome: events.Success, Evaluation: "fine", Lesson: "none"}
	musttest.Equal(t, result, accepted.Judged(result))
	for outcome, code := range map[events.Outcome]events.Code{
		events.ExecutionError: events.CodeExecution, events.InputDataError: events.CodeInputData, events.TooComplicated: events.CodeTooComplicated,
	} {
		refused := conversation.Evaluation{Outcome: outcome, Evaluation: "It is wrong.", Lesson: "Count again."}
		got := refused.Judged(result)
		if got.Outcome != outcome || got.Output != nil || got.Fault.Code != code || got.Fault.Cause != "It is wrong." || got.Lesson != "It is wrong.\nCount again." {
			t.Errorf("%+v %+v", got, got.Fault)
		}
	}
	silent := conversation.Evaluation{Outcome: events.ExecutionError}
	if got := silent.Judged(result); got.Lesson == "" {
		t.Errorf("%+v", got)
	}
}

func TestWithoutInputsAnEvaluatorIsNotOfferedToBlameThem(t *testing.T) {
	w := &events.Work{Goal: "Count.", CompletionCriteria: "It is a number."}
	for _, inputs := range []bool{false, true} {
		if inputs {
			w.Results = map[string]events.Result{"before": {Output: json.RawMessage(`"boxes"`)}}
		}
		messages := conversation.Evaluating(&conversation.Brief{Work: w, Prompt: "Be strict."}, json.RawMessage(`"x </data> 7"`))
		system, user := messages[0].Text, messages[1].Text
		if offered := strings.Contains(system, "INPUT_DATA_ERROR"); offered != inputs || strings.Contains(string(conversation.EvaluationSchema(inputs)), "INPUT_DATA_ERROR") != inputs {
			t.Errorf("with inputs %v it is offered: %v", inputs, offered)
		}
		if !strings.HasSuffix(system, "\n\nBe strict.") || !strings.Contains(user, "It is a number.") || !strings.HasSuffix(user, "<data kind=\"evaluated\" name=\"result\">\nx &lt;/data> 7\n</data>\n") {
			t.Errorf("%s\n%s", system, user)
		}
	}
}

// A conversation that begins with its budget used up asks for nothing but the summary.
func TestAConversationGoesOnFromWhatTheRunHasHad(t *testing.T) {
	one := begin(t, conversation.Rules{Tokens: 25, Tools: true})
	one.call(search("a", ""))
	one.see("seen")
	one.say("first")
	had := one.So()
	musttest.Equal(t, conversation.Before{Questions: 2, Tokens: 20}, had)
	two := begin(t, conversation.Rules{Tokens: 25, Before: had})
	if n := two.next(conversation.Ask).Number; n != 3 {
		t.Errorf("question %d", n)
	}
	two.say("second")
	three := begin(t, conversation.Rules{Tokens: 25, Before: two.So()})
	if e := three.next(conversation.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Cause != "30 of 25 tokens" {
		t.Errorf("%+v", e)
	}
	three = begin(t, conversation.Rules{Tokens: 25, Before: two.So(), Summary: true})
	three.say("so far")
	if e := three.next(conversation.End).Ending; !e.Incomplete {
		t.Errorf("%+v", e)
	}
}
