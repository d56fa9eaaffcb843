package llm_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestASealedThoughtGoesBackInItsTurnToTheModelThatSealedIt(t *testing.T) {
	answer := llmtest.Answer{Reasoning: "hm", Text: "I look", Calls: []llmtest.Call{{ID: "c1", Name: "look", Args: "{}"}}}
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			server := llmtest.New(llmtest.Say(answer, llmtest.Answer{Text: "ok"}, llmtest.Answer{Text: "ok"}, llmtest.Answer{Text: "ok"}))
			responses := func(m *llm.ModelConfig) { m.API = "responses" }
			e := engine(t, server, single(responses), nil)
			r := ask("hi")
			r.Tools, r.Stream = []llm.Tool{{Name: "look"}}, stream
			first := musttest.Get(e.Do(t.Context(), r, nil))(t)
			r.Messages = append(r.Messages, first.Message(), llm.Result("c1", "seen"))
			own := []string{"messageuser", "reasoning", "messageassistant", "function_call", "function_call_output"}
			others := []string{"messageuser", "messageassistant", "function_call", "function_call_output"}
			for i, step := range []struct {
				model, api string
				want       []string
			}{{"test-model", "responses", own}, {"other", "responses", others}, {"test-model", "chat", nil}} {
				musttest.Do(t, e.Set(single(func(m *llm.ModelConfig) { m.Model, m.API = step.model, step.api })))
				musttest.Get(e.Do(t.Context(), r, nil))(t)
				q := server.Asked()[i+1]
				var all []string
				var body struct {
					Input []struct {
						Type string `json:"type"`
						Role string `json:"role"`
					} `json:"input"`
				}
				musttest.Decode(t, q.Body, &body)
				for _, item := range body.Input {
					all = append(all, item.Type+item.Role)
				}
				if diff := cmp.Diff(step.want, all); diff != "" {
					t.Errorf("%+v: %s", step, diff)
				}
			}
		})
	}
}

func TestATurnThatIsToldOtherwiseCarriesNothing(t *testing.T) {
	answer := llmtest.Answer{Reasoning: "hm", Calls: []llmtest.Call{{ID: "c1", Name: "plan", Args: `{"goal":"x"}`}}}
	e := engine(t, llmtest.New(llmtest.Say(answer)), single(func(m *llm.ModelConfig) { m.API, m.Structured = "responses", llm.RungTool }), nil)
	r := ask("hi")
	r.Schema = plan()
	if got, err := e.Do(t.Context(), r, nil); err != nil || got.Carry != nil || got.Text != `{"goal":"x"}` {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARepeatedRequestOfAnotherShapeHasAnotherIdempotencyKey(t *testing.T) {
	server := llmtest.New(llmtest.Say(llmtest.Answer{Status: 400}, llmtest.Answer{Text: "{}"}))
	e := engine(t, server, single(nil), nil)
	r := ask("hi")
	r.Schema, r.IdempotencyKey = plan(), "k"
	musttest.Get(e.Do(t.Context(), r, nil))(t)
	for i, want := range []string{"k", "k~1"} {
		if got := server.Asked()[i].Header.Get("Idempotency-Key"); got != want {
			t.Errorf("request %d: %q, want %q", i, got, want)
		}
	}
}
