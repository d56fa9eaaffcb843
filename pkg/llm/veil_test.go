package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// keys is a configuration with two models: the key of one has no known form, that of the other is a word instead of a key.
func keys(api string) llm.Config {
	config := single(func(m *llm.ModelConfig) { m.API = api })
	config["other"] = llm.ModelConfig{Key: "my-own-password-7"}
	config["local"] = llm.ModelConfig{Key: "ollama"}
	return config
}

func TestNoKeyIsSaidThoughtOrTold(t *testing.T) {
	const loose = "sk-proj-AbCdEf0123456789GhIjKl"
	text := `{"钥匙":"` + key + `","b":"Bearer ` + loose + `","c":["my-own-password-7","ollama","task-force","sk-learn-tutorial-2024"]} s`
	want := `{"钥匙":"********","b":"Bearer ********","c":["********","ollama","task-force","sk-learn-tutorial-2024"]} s`
	for _, api := range apis {
		for _, chunk := range []int{0, 1, 3, 7} {
			server := llmtest.New(llmtest.Say(llmtest.Answer{
				Text: text, Reasoning: "it is " + key, Chunk: chunk, Calls: []llmtest.Call{{ID: "c1", Name: "look", Args: `{"q":"` + key + `"}`}},
			}))
			r := ask("hi")
			r.Stream, r.Tools = chunk > 0, []llm.Tool{{Name: "look"}}
			var said, thought strings.Builder
			got := musttest.Get(engine(t, server, keys(api), nil).Do(t.Context(), r, func(d llm.Delta) {
				said.WriteString(d.Text)
				thought.WriteString(d.Reasoning)
			}))(t)
			if got.Text != want || got.Reasoning != "it is ********" || got.Calls[0].Args != `{"q":"********"}` {
				t.Errorf("%s by %d:\n%s\n%s\n%s", api, chunk, got.Text, got.Reasoning, got.Calls[0].Args)
			}
			if r.Stream && (said.String() != got.Text || thought.String() != got.Reasoning) {
				t.Errorf("%s by %d: told %q, %q", api, chunk, said.String(), thought.String())
			}
			if strings.Contains(string(got.Carry), key) || got.Carry != nil && !json.Valid(got.Carry) {
				t.Errorf("%s by %d: carry %s", api, chunk, got.Carry)
			}
		}
	}
}

func TestNoKeyIsInAFormARefusalOrACutAnswer(t *testing.T) {
	schema := &llm.Schema{Name: "form", Schema: json.RawMessage(`{"type":"object"}`)}
	r := ask("hi")
	r.Schema = schema
	config := single(func(m *llm.ModelConfig) { m.Structured = llm.RungTool })
	got, err := engine(t, llmtest.New(llmtest.Say(llmtest.Answer{Text: `{"a":"` + key + `"}`})), config, nil).Do(t.Context(), r, nil)
	if err != nil || got.Text != `{"a":"********"}` {
		t.Errorf("%+v, %v", got, err)
	}
	declined := `data: {"choices":[{"index":0,"delta":{"refusal":"not my-own-"}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"refusal":"password-7"},"finish_reason":"stop"}]}` + "\n\n"
	r = ask("hi")
	r.Stream = true
	_, err = engine(t, raw("text/event-stream", declined), keys("chat"), nil).Do(t.Context(), r, nil)
	if fail := class(t, err, llm.Refused); fail.Message != "not ********" {
		t.Errorf("%q", fail.Message)
	}
	for _, cut := range []string{key, key[:20]} {
		body := fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"it is %s"}}]}`+"\n\n"+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n", cut)
		r := ask("hi")
		r.Stream = true
		_, err := engine(t, raw("text/event-stream", body), single(nil), nil).Do(t.Context(), r, func(llm.Delta) {})
		if fail := class(t, err, llm.LengthCut); fail.Partial.Text != "it is ********" {
			t.Errorf("%q", fail.Partial.Text)
		}
	}
}

func FuzzOnlyKeysAreTakenOutOfAnAnswer(f *testing.F) {
	f.Add("a plan about sk", 1)
	f.Add("sk-test-0123456789abcdeX 任务 s", 2)
	f.Add("task-force sk-sk-s", 3)
	f.Add("sk\xff-000000000000000A", 1)
	f.Fuzz(func(t *testing.T, text string, chunk int) {
		text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
		if text == "" || strings.Contains(text, "sk-") || strings.Contains(text, "<th") || len(text) > 1<<10 || chunk < 1 {
			return
		}
		r := ask("hi")
		r.Stream = true
		got, err := engine(t, llmtest.New(llmtest.Say(llmtest.Answer{Text: text, Chunk: chunk})), single(nil), nil).Do(t.Context(), r, nil)
		if err == nil && got.Text != text {
			t.Errorf("%q became %q", text, got.Text)
		}
	})
}

// endless answers with a stream of one endless event, and counts how much of it is read.
type endless struct {
	event string
	read  int
	left  string
}

func (e *endless) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(e)}, nil
}

func (e *endless) Read(to []byte) (int, error) {
	if e.left == "" {
		e.left = e.event
	}
	n := copy(to, e.left)
	e.left = e.left[n:]
	e.read += n
	return n, nil
}

func TestAStreamWithoutAnEndIsGivenUpWhenItsAnswerIsTooLarge(t *testing.T) {
	long := strings.Repeat("x", 1<<18)
	for name, event := range map[string]string{
		"text":      `data: {"choices":[{"index":0,"delta":{"content":"` + long + `"}}]}`,
		"arguments": `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"` + long + `"}}]}}]}`,
		"items":     `data: {"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"` + long + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			doer := &endless{event: event + "\n\n"}
			r := ask("hi")
			r.Stream = true
			_, err := engine(t, doer, single(func(m *llm.ModelConfig) {
				m.API = "chat"
				if name == "items" {
					m.API = "responses"
				}
			}), nil).Do(t.Context(), r, nil)
			fail := class(t, err, llm.Malformed)
			if !strings.Contains(fail.Message, "larger than an answer may be") || doer.read > 10<<20 {
				t.Errorf("%d bytes read: %v", doer.read, err)
			}
			if fail.Partial != nil && len(fail.Partial.Text)+len(fail.Partial.Reasoning) > 0 {
				t.Error("it is handed on")
			}
		})
	}
}
