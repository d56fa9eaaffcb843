package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// redirect sends everything to one server, whatever the path before /v1 or the host is.
type redirect struct{ to *llmtest.Server }

func (r redirect) Do(req *http.Request) (*http.Response, error) {
	for _, end := range []string{"/chat/completions", "/responses"} {
		if strings.HasSuffix(req.URL.Path, end) {
			req.URL.Path = "/v1" + end
		}
	}
	return r.to.Do(req)
}

func plan() *llm.Schema {
	return &llm.Schema{Name: "plan", Schema: json.RawMessage(`{"type":"object","properties":{"goal":{"type":"string"}},"required":["goal"]}`)}
}

// rungOf returns the way in which a question requests structured output.
func rungOf(q llmtest.Question) llm.Rung {
	_, tool := q.Tools["plan"]
	switch {
	case q.Form != "":
		return llm.Rung(q.Form)
	case tool:
		return llm.RungTool
	}
	return llm.RungPrompt
}

func TestTheLadderIsClimbedOnceAndRemembered(t *testing.T) {
	for _, api := range apis {
		ladder := []llm.Rung{llm.RungSchema, llm.RungObject, llm.RungTool, llm.RungPrompt}
		if api == "anthropic" {
			ladder = []llm.Rung{llm.RungSchema, llm.RungTool, llm.RungPrompt}
		}
		for n, can := range ladder {
			for _, status := range []int{400, 422} {
				t.Run(fmt.Sprintf("%s up to %s by %d", api, can, status), func(t *testing.T) {
					var asked []llm.Rung
					server := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
						rung := rungOf(q)
						asked = append(asked, rung)
						if len(asked) <= n {
							return llmtest.Answer{Status: status, Error: "this is not supported"}, nil
						}
						if rung == llm.RungTool {
							return llmtest.Answer{Calls: []llmtest.Call{{Name: "plan", Args: `{"goal":"x"}`}}}, nil
						}
						return llmtest.Answer{Text: `{"goal":"x"}`}, nil
					}))
					e := engine(t, server, single(func(m *llm.ModelConfig) { m.API = api }), nil)
					r := ask("plan it")
					r.Schema = plan()
					for i := range 2 {
						got, err := e.Do(t.Context(), r, nil)
						if err != nil || got.Rung != can || got.Text != `{"goal":"x"}` || got.Calls != nil || got.Finish != llm.FinishStop {
							t.Fatalf("call %d: %+v, %v", i, got, err)
						}
					}
					want := append(ladder[:n+1:n+1], can)
					musttest.Equal(t, want, asked)
					if _, err := e.Do(t.Context(), ask("no form"), nil); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func TestARefusalForAnotherReasonTeachesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer llmtest.Answer
		asked  int
		want   llm.Class
	}{
		{"always 400", llmtest.Answer{Status: 400, Error: "first"}, 4, llm.BadRequest},
		{"another parameter is named", llmtest.Answer{Status: 400, Error: "bad role", Param: "messages[0].role"}, 1, llm.BadRequest},
		{"the prompt is too long", llmtest.Answer{Status: 400, Code: "context_length_exceeded"}, 1, llm.ContextTooLong},
		{"the prompt is filtered", llmtest.Answer{Status: 400, Code: "content_filter"}, 1, llm.Filtered},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := true
			server := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
				if bad {
					return c.answer, nil
				}
				return llmtest.Answer{Text: "{}"}, nil
			}))
			e := engine(t, server, single(nil), nil)
			r := ask("plan it")
			r.Schema = plan()
			_, err := e.Do(t.Context(), r, nil)
			class(t, err, c.want)
			if n := len(server.Asked()); n != c.asked {
				t.Errorf("%d requests, want %d", n, c.asked)
			}
			bad = false
			if got, err := e.Do(t.Context(), r, nil); err != nil || got.Rung != llm.RungSchema {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
		})
	}
}

func TestToolsOfTheRequestGoBesideTheForcedForm(t *testing.T) {
	server := llmtest.New(llmtest.Say(
		llmtest.Answer{Calls: []llmtest.Call{{Name: "look", Args: `{}`}}},
		llmtest.Answer{Calls: []llmtest.Call{{Name: "plan", Args: `{"goal":"x"}`}}},
	))
	e := engine(t, server, single(func(m *llm.ModelConfig) { m.Structured = llm.RungTool }), nil)
	r := ask("plan it")
	r.Schema, r.Tools = plan(), []llm.Tool{{Name: "look"}}
	first, err := e.Do(t.Context(), r, nil)
	if err != nil || len(first.Calls) != 1 || first.Calls[0].Name != "look" || first.Finish != llm.FinishCalls {
		t.Errorf("%+v, %v", first, err)
	}
	r.Messages = append(r.Messages, first.Message(), llm.Result(first.Calls[0].ID, "seen"))
	if second, err := e.Do(t.Context(), r, nil); err != nil || second.Text != `{"goal":"x"}` || second.Calls != nil {
		t.Errorf("%+v, %v", second, err)
	}
	if q := server.Asked()[0]; q.ToolChoice != "required" || len(q.Tools) != 2 {
		t.Errorf("tool choice %q of %d tools", q.ToolChoice, len(q.Tools))
	}
}

func TestAModelThatWantsResponsesIsSpokenToInResponses(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer llmtest.Answer
	}{
		{"tools with reasoning", llmtest.Answer{Status: 400, Error: "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead."}},
		{"the model as such", llmtest.Answer{Status: 404, Error: "This model is only supported in v1/responses and not in v1/chat/completions."}},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", c.name, stream), func(t *testing.T) {
				server := llmtest.New(&llmtest.Script{Rules: []llmtest.Rule{
					{When: llmtest.When{Path: "/chat/completions"}, Answer: c.answer},
					{When: llmtest.When{Path: "/responses"}, Answer: llmtest.Answer{Calls: []llmtest.Call{{Name: "look", Args: "{}"}}}},
				}})
				e := engine(t, server, single(nil), nil)
				r := ask("hi")
				r.Tools, r.Effort, r.Stream = []llm.Tool{{Name: "look"}}, "high", stream
				for i := range 2 {
					got, err := e.Do(t.Context(), r, nil)
					if err != nil || got.Dialect != llm.DialectResponses || len(got.Calls) != 1 || got.Dropped != nil {
						t.Fatalf("call %d: %+v, %v", i, got, err)
					}
				}
				var paths []string
				for _, q := range server.Asked() {
					paths = append(paths, q.Path)
				}
				musttest.Equal(t, []string{"/chat/completions", "/responses", "/responses"}, paths)
			})
		}
	}
	t.Run("the SDK knows it beforehand", func(t *testing.T) {
		server := llmtest.New(llmtest.Planner{})
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.Model = "gpt-6-sol" }), nil)
		r := ask("hi")
		r.Tools, r.Effort = []llm.Tool{{Name: "look"}}, "high"
		if got, err := e.Do(t.Context(), r, nil); err != nil || got.Dialect != llm.DialectResponses || len(server.Asked()) != 1 {
			t.Errorf("%+v, %v, %d requests", got, err, len(server.Asked()))
		}
	})
	t.Run("not when chat is configured", func(t *testing.T) {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Status: 400, Error: "use /v1/responses"}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.API = "chat" }), nil)
		_, err := e.Do(t.Context(), ask("hi"), nil)
		class(t, err, llm.BadRequest)
	})
}

func TestRefusedSettingsAreLeftOutAndNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream bool
		answer llmtest.Answer
		want   []string
		field  string
	}{
		{"temperature", false, llmtest.Answer{Error: "Unsupported value: 'temperature' does not support 0.2 with this model.", Param: "temperature"}, []string{"temperature"}, "temperature"},
		{"max_tokens", false, llmtest.Answer{Error: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}, []string{"max_tokens"}, "max_tokens"},
		{"seed, by words only", false, llmtest.Answer{Error: "unknown field \"seed\""}, []string{"seed"}, "seed"},
		{"stream_options", true, llmtest.Answer{Error: "stream_options: extra fields not permitted"}, []string{"stream_options"}, "stream_options"},
		{"reasoning_effort", false, llmtest.Answer{Error: "unknown parameter", Param: "reasoning_effort"}, []string{"reasoning_effort"}, "reasoning_effort"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
				var sent map[string]any
				if err := json.Unmarshal(q.Body, &sent); err != nil {
					return llmtest.Answer{}, err
				}
				if _, has := sent[c.field]; has {
					refusal := c.answer
					refusal.Status = 400
					return refusal, nil
				}
				if c.field == "max_tokens" && sent["max_completion_tokens"] != 50.0 {
					return llmtest.Answer{Text: "the limit is lost"}, nil
				}
				return llmtest.Answer{Text: "ok"}, nil
			}))
			e := engine(t, server, single(nil), nil)
			warm, seed := 0.2, 1
			r := ask("hi")
			r.Temperature, r.Seed, r.MaxTokens, r.Effort, r.Stream = &warm, &seed, 50, "low", c.stream
			for range 2 {
				got, err := e.Do(t.Context(), r, nil)
				if err != nil || got.Text != "ok" {
					t.Fatalf("%+v, %v", got, err)
				}
				musttest.Equal(t, c.want, got.Dropped)
			}
			if n := len(server.Asked()); n != 3 {
				t.Errorf("%d requests, want 3: it was not remembered", n)
			}
		})
	}
}

func TestWhatWasLearnedIsForgottenWithTheModel(t *testing.T) {
	server := llmtest.New(&llmtest.Script{
		Rules: []llmtest.Rule{{When: llmtest.When{Form: "json_schema", Model: "test-model"}, Answer: llmtest.Answer{Status: 400}}},
		Else:  llmtest.Planner{},
	})
	e := engine(t, server, single(nil), nil)
	r := ask("plan it")
	r.Schema = plan()
	for _, step := range []struct {
		model string
		rung  llm.Rung
		asked int
	}{{"test-model", llm.RungObject, 2}, {"test-model", llm.RungObject, 3}, {"other", llm.RungSchema, 4}} {
		musttest.Do(t, e.Set(single(func(m *llm.ModelConfig) { m.Model, m.MaxTokens = step.model, step.asked })))
		got, err := e.Do(t.Context(), r, nil)
		if err != nil || got.Rung != step.rung || len(server.Asked()) != step.asked {
			t.Errorf("%+v: %+v, %v, %d requests", step, got, err, len(server.Asked()))
		}
	}
}

func TestOpenThinkingBeginsInsideTheThought(t *testing.T) {
	for _, stream := range []bool{false, true} {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "hm, well</think>\n\nthe answer", Chunk: 2}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.OpenThink = true }), nil)
		r := ask("hi")
		r.Stream = stream
		if got, err := e.Do(t.Context(), r, nil); err != nil || got.Text != "the answer" || got.Reasoning != "hm, well" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestAModelWhoseStreamsCannotBeReliedOnIsAskedForWholeAnswers(t *testing.T) {
	for _, on := range []bool{true, false} {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "the answer", Chunk: 2}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.Stream = &on }), nil)
		r := ask("hi")
		r.Stream = true
		pieces, text := 0, ""
		got, err := e.Do(t.Context(), r, func(d llm.Delta) { pieces, text = pieces+1, text+d.Text })
		if err != nil || got.Text != "the answer" || text != got.Text || (pieces > 1) != on || server.Asked()[0].Stream != on {
			t.Errorf("stream %v: %+v, %v, %d pieces, asked for a stream: %v", on, got, err, pieces, server.Asked()[0].Stream)
		}
	}
}

func TestStopsHoldWhereTheProviderHasNone(t *testing.T) {
	server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "one\nEND two"}))
	e := engine(t, server, single(func(m *llm.ModelConfig) { m.API = "responses" }), nil)
	r := ask("hi")
	r.Stop = []string{"END"}
	if got, err := e.Do(t.Context(), r, nil); err != nil || got.Text != "one\n" {
		t.Errorf("%+v, %v", got, err)
	}
}
