package caller_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/caller"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

func TestAFailureHasTheClassOfItsCause(t *testing.T) {
	none := 0
	for _, c := range []struct {
		answer llmtest.Answer
		model  string
		class  planning.Class
		told   string
	}{
		{llmtest.Answer{Status: 401}, "", planning.ClassAuth, ""},
		{llmtest.Answer{Status: 402}, "", planning.ClassQuota, ""},
		{llmtest.Answer{Status: 404}, "", planning.ClassNotFound, ""},
		{llmtest.Answer{}, "unknown", planning.ClassUnnamed, `"default"`},
		{llmtest.Answer{Text: "half", Finish: "length"}, "", planning.ClassCut, ""},
		{llmtest.Answer{Type: "text/event-stream", Body: `data: {"choices":[{"index":0,"delta":{"content":"{"}}]}` + "\n\n"}, "", planning.ClassBroken, ""},
	} {
		config := llm.Config{llm.DefaultModel: {Model: "m", BaseURL: "http://model.test/v1", Retries: &none}}
		engine := musttest.Get(llm.New(config, llm.Settings{Doer: llmtest.New(llmtest.Say(c.answer))}))(t)
		asked := &loop.Question{
			Request: &events.Request{Models: map[string]string{"planner": c.model}}, Live: func([]byte) {},
			Call: &planning.ModelCall{Role: "planner", Messages: []planning.Message{{Role: "user", Text: "hi"}}},
		}
		fact, err := (&caller.Model{Client: engine}).Ask(t.Context(), asked)
		if err != nil || fact.Kind != planning.Failed || fact.Class != c.class || !strings.Contains(fact.Message, c.told) {
			t.Errorf("%s: %+v, %v", c.class, fact, err)
		}
	}
}

// The fault of the planning says what the class means; the message adds the rest and repeats nothing.
func TestAFailureSaysOnceThatThereIsNoSuchModel(t *testing.T) {
	none := 0
	for _, c := range []struct {
		answer llmtest.Answer
		model  string
		want   string
	}{
		{llmtest.Answer{Status: 404, Type: "application/json", Body: `{"error":{"message":"m is unknown here","code":"model_not_found"}}`}, "", "model default (status 404): m is unknown here"},
		{llmtest.Answer{Status: 401, Type: "application/json", Body: `{"error":{"message":"wrong key"}}`}, "", "model default (status 401): wrong key"},
		{llmtest.Answer{}, "unknown", `model unknown: the configured models are "default", "small"`},
	} {
		config := llm.Config{llm.DefaultModel: {Model: "m", BaseURL: "http://model.test/v1", Retries: &none}, "small": {Model: "s", BaseURL: "http://model.test/v1"}}
		engine := musttest.Get(llm.New(config, llm.Settings{Doer: llmtest.New(llmtest.Say(c.answer))}))(t)
		asked := &loop.Question{
			Request: &events.Request{Models: map[string]string{"planner": c.model}}, Call: &planning.ModelCall{Role: "planner", Messages: []planning.Message{{Role: "user", Text: "hi"}}},
		}
		if fact := musttest.Get((&caller.Model{Client: engine}).Ask(t.Context(), asked))(t); fact.Message != c.want {
			t.Errorf("got %q, want %q", fact.Message, c.want)
		}
	}
}
