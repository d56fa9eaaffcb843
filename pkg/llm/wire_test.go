package llm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// keyHeader and keyValue are how each dialect sends the key.
var (
	keyHeader = map[string]string{"chat": "Authorization", "responses": "Authorization", "anthropic": "X-Api-Key", "gemini": "X-Goog-Api-Key"}
	keyValue  = map[string]string{"chat": "Bearer " + key, "responses": "Bearer " + key, "anthropic": key, "gemini": key}
)

// The golden files say what goes over the wire. They contain temperature 0, empty tool results and empty arguments, all of which
// the SDK drops; they do not contain the assistant's empty turn.
func TestRequestsOnTheWire(t *testing.T) {
	for _, api := range apis {
		for _, rung := range []llm.Rung{llm.RungSchema, llm.RungObject, llm.RungTool, llm.RungPrompt} {
			for _, stream := range []bool{false, true} {
				if stream && rung != llm.RungSchema {
					continue
				}
				name := fmt.Sprintf("%s-%s", api, rung)
				if stream {
					name += "-stream"
				}
				t.Run(name, func(t *testing.T) {
					server := llmtest.New(llmtest.Say(llmtest.Answer{Text: `{"name":"duck"}`}))
					e := engine(t, server, single(func(m *llm.ModelConfig) {
						m.API, m.Structured, m.SendMetadata = api, rung, true
						m.Headers = map[string]string{"X-Title": "jobgraph"}
						m.Extra = map[string]any{"top_k": 5}
					}), nil)
					zero, seed := 0.0, 7
					r := llm.Request{
						Messages: []llm.Message{
							llm.System("Be brief."),
							{Role: llm.RoleUser, Parts: []llm.Part{{Text: "What is this? 这是什么？"}, {ImageURL: "https://example.com/a.png", Detail: "low"}}},
							{
								Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c1", Name: "look", Args: `{"q":"a"}`}, {ID: "c2", Name: "now"}},
								Carry: json.RawMessage(`{"from":"test-model@model.test","items":[{"type":"reasoning","id":"rs_1","encrypted_content":"sealed"},` +
									`{"type":"function_call","id":"fc_1","call_id":"c1","name":"look","arguments":"{\"q\":\"a\"}"},` +
									`{"type":"function_call","id":"fc_2","call_id":"c2","name":"now","arguments":"{}"}]}`),
							},
							llm.Result("c1", "a duck"),
							llm.Result("c2", ""),
							llm.Assistant(""),
							llm.Assistant("A duck."),
							llm.User(""),
						},
						Tools: []llm.Tool{
							{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`), Strict: true},
							{Name: "now"},
						},
						ToolChoice:  llm.ToolAuto,
						Schema:      &llm.Schema{Name: "animal", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)},
						Temperature: &zero, MaxTokens: 100, Stop: []string{"END"}, Seed: &seed, Effort: "low",
						IdempotencyKey: "job-1/run-2", Metadata: map[string]string{"job": "j1"},
					}
					r.Stream = stream
					got, err := e.Do(t.Context(), r, nil)
					if err != nil || got.Rung != rung {
						t.Fatalf("%+v, %v", got, err)
					}
					q := server.Asked()[0]
					for header, want := range map[string]string{keyHeader[api]: keyValue[api], "Idempotency-Key": "job-1/run-2", "X-Title": "jobgraph"} {
						if got := q.Header.Get(header); got != want {
							t.Errorf("%s: %q", header, got)
						}
					}
					var shown bytes.Buffer
					musttest.Do(t, json.Indent(&shown, q.Body, "", "  "))
					shown.WriteByte('\n')
					goldentest.Same(t, filepath.Join("testdata", "wire", name+".json"), shown.String())
				})
			}
		}
	}
}

func TestTheLimitOfTokensHasTheNameThatTheProviderKnows(t *testing.T) {
	for base, want := range map[string]string{
		"": "max_completion_tokens", "https://api.openai.com/v1": "max_completion_tokens",
		"http://localhost:11434/v1": "max_tokens", "https://evil.test/openai.com": "max_tokens",
	} {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "ok"}))
		doer := redirect{server}
		e := engine(t, doer, single(func(m *llm.ModelConfig) { m.BaseURL, m.MaxTokens = base, 9 }), nil)
		musttest.Get(e.Do(t.Context(), ask("hi"), nil))(t)
		var sent map[string]any
		if err := json.Unmarshal(server.Asked()[0].Body, &sent); err != nil || sent[want] != 9.0 || len(sent) != 4 {
			t.Errorf("%q: sent %v, want %s", base, sent, want)
		}
	}
}
