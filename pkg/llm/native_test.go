package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// spoken asks a model in a dialect that answers with one raw body.
func spoken(t *testing.T, api string, stream bool, body string) (llm.Response, error) {
	t.Helper()
	none := 0
	r := ask("hi")
	r.Stream = stream
	config := single(func(m *llm.ModelConfig) { m.API, m.Retries = api, &none })
	return engine(t, byByte{raw("", body)}, config, nil).Do(t.Context(), r, nil)
}

// byByte delivers an answer byte by byte, so that characters and lines are split.
type byByte struct{ llm.Doer }

func (d byByte) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.Doer.Do(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{iotest.OneByteReader(resp.Body), resp.Body}
	}
	return resp, err
}

// named is a stream of events with their names, as Anthropic sends them.
func named(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		var event struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(data), &event) // An unreadable event has no name.
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", event.Type, data)
	}
	return b.String()
}

const (
	began      = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}`
	textBlock  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	halfText   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half an ans"}}`
	stopped    = `{"type":"message_stop"}`
	lookBlock  = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}`
	blockStops = `{"type":"content_block_stop","index":1}`
)

func ended(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":7}}`
}

func args(piece string) string {
	data, _ := json.Marshal(piece) // A text can always be encoded.
	return `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":` + string(data) + `}}`
}

func TestMessagesStreamsThatProvidersReallySend(t *testing.T) {
	for _, c := range []struct {
		edge, body, text, reasoning string
		calls                       []string
		want                        llm.Class
		says                        string
	}{
		{edge: "plain", body: named(began, `{"type":"ping"}`, textBlock, halfText, ended("end_turn"), stopped), text: "half an ans"},
		{edge: "without names of events", body: sse(began, textBlock, halfText, ended("end_turn"), stopped), text: "half an ans"},
		{edge: "unknown events and deltas", body: named(began, `{"type":"novelty","x":[1]}`, textBlock, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, halfText, ended("end_turn"), stopped), text: "half an ans"},
		{edge: "escapes and several scripts", body: named(began, textBlock, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\"世界\" \ud83d\ude00"}}`, ended("stop_sequence"), stopped), text: "a\n\"世界\" 😀"},
		{edge: "text in the beginning of its block", body: named(began, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ab"}}`, ended("end_turn"), stopped), text: "ab"},
		{edge: "a block without a beginning", body: named(began, halfText, ended("end_turn"), stopped), text: "half an ans"},
		{edge: "message_stop without a reason", body: named(began, textBlock, halfText, stopped), text: "half an ans"},
		{edge: "a reason without message_stop", body: named(began, textBlock, halfText, ended("end_turn")), text: "half an ans"},
		{edge: "thinking between calls", body: named(began, textBlock, halfText, lookBlock, args(""), args(`{"q":`), args(`1}`), blockStops, `{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"hm"}}`, `{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"find","input":{}}}`, ended("tool_use"), stopped), text: "half an ans", reasoning: "hm", calls: []string{`toolu_1 look {"q":1}`, `toolu_2 find {}`}},
		{edge: "interleaved blocks", body: named(began, textBlock, lookBlock, args(`{"q":`), halfText, args(`2}`), ended("tool_use"), stopped), text: "half an ans", calls: []string{`toolu_1 look {"q":2}`}},
		{edge: "arguments in the beginning of their block", body: named(began, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"q":"世"}}}`, ended("tool_use"), stopped), calls: []string{`t look {"q":"世"}`}},
		{edge: "a whole call and no end", body: named(began, lookBlock, args(`{"q":1}`)), calls: []string{`toolu_1 look {"q":1}`}},
		{edge: "a message although a stream was asked for", body: `{"type":"message","id":"m","content":[{"type":"text","text":"ab"}],"stop_reason":"end_turn"}`, text: "ab"},

		{edge: "cut in the text", body: named(began, textBlock, halfText), want: llm.StreamCut, text: "half an ans"},
		{edge: "cut within a call", body: named(began, lookBlock, args(`{"q":`)), want: llm.StreamCut},
		{edge: "an error in mid-stream", body: named(began, textBlock, halfText, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_7"}`), want: llm.Overloaded, text: "half an ans", says: "req_7"},
		{edge: "an error without a name", body: sse(began, textBlock, halfText, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`), want: llm.RateLimited, text: "half an ans"},
		{edge: "an invalid request in mid-stream", body: named(began, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`), want: llm.BadRequest},
		{edge: "the token limit", body: named(began, textBlock, halfText, ended("max_tokens"), stopped), want: llm.LengthCut, text: "half an ans"},
		{edge: "the context is full", body: named(began, textBlock, halfText, ended("model_context_window_exceeded"), stopped), want: llm.ContextTooLong, text: "half an ans"},
		{edge: "a refusal", body: named(began, textBlock, halfText, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"not that"}}}`, stopped), want: llm.Refused, text: "half an ans", says: "not that"},
		{edge: "only a thought", body: named(began, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`, ended("end_turn"), stopped), want: llm.Empty},
		{edge: "no content", body: named(began, ended("end_turn"), stopped), want: llm.Empty},
		{edge: "a block that is none", body: named(began, `{"type":"content_block_start","index":0,"content_block":7}`), want: llm.Malformed},
		{edge: "nonsense", body: named(began) + "data: {\"type\":!}\n\n", want: llm.Malformed},
		{edge: "a page", body: "<html>bad gateway</html>", want: llm.Malformed},
		{edge: "an error under 200", body: `{"type":"error","error":{"type":"api_error","message":"it broke"}}`, want: llm.Unavailable},
	} {
		t.Run(c.edge, func(t *testing.T) {
			got, err := spoken(t, "anthropic", true, c.body)
			if c.want != "" {
				fail := class(t, err, c.want)
				if partial(fail) != c.text || !strings.Contains(fail.Error(), c.says) {
					t.Errorf("partial %q, want %q; %v", partial(fail), c.text, fail)
				}
				return
			}
			told(t, got, err, c.text, c.reasoning, c.calls)
			if c.body[0] != '{' && (got.Usage.Prompt != 18 || got.Usage.Cached != 5 || got.Usage.Written != 3) {
				t.Errorf("usage %+v", got.Usage)
			}
		})
	}
}

// told fails the test unless an answer is as wanted. Calls are written as id, name and arguments.
func told(t *testing.T, got llm.Response, err error, text, reasoning string, calls []string) {
	t.Helper()
	var made []string
	for _, call := range got.Calls {
		made = append(made, call.ID+" "+call.Name+" "+call.Args)
	}
	if err != nil || got.Text != text || got.Reasoning != reasoning {
		t.Errorf("%+v, %v; want %q, %q", got, err, text, reasoning)
	}
	musttest.Equal(t, calls, made)
}

// chunkOf is a chunk of Gemini with parts and, unless it is empty, a finish reason.
func chunkOf(parts, reason string) string {
	if reason != "" {
		reason = `,"finishReason":"` + reason + `"`
	}
	return `{"candidates":[{"index":0,"content":{"role":"model","parts":[` + parts + `]}` + reason + `}],"responseId":"g1","modelVersion":"gemini"}`
}

func TestGeminiStreamsThatGoogleReallySends(t *testing.T) {
	const half = `{"text":"half an ans"}`
	for _, c := range []struct {
		edge, body, text, reasoning string
		calls                       []string
		want                        llm.Class
		says                        string
	}{
		{edge: "plain", body: sse(chunkOf(half, ""), chunkOf(``, "STOP")), text: "half an ans"},
		{edge: "reason together with text", body: sse(chunkOf(half, "STOP")), text: "half an ans"},
		{edge: "a candidate without content", body: sse(chunkOf(half, ""), `{"candidates":[{"finishReason":"STOP"}]}`), text: "half an ans"},
		{edge: "usage behind the reason", body: sse(chunkOf(half, "STOP"), `{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}`), text: "half an ans"},
		{edge: "a thought, signed in an empty part", body: sse(chunkOf(`{"text":"hm","thought":true}`, ""), chunkOf(half, ""), chunkOf(`{"text":"","thoughtSignature":"c2ln"}`, "STOP")), text: "half an ans", reasoning: "hm"},
		{edge: "calls without ids", body: sse(chunkOf(`{"functionCall":{"name":"look","args":{"q":"世"}}},{"functionCall":{"name":"look","args":{"q":2}}}`, "STOP")), calls: []string{`* look {"q":"世"}`, `* look {"q":2}`}},
		{edge: "a call without arguments", body: sse(chunkOf(`{"functionCall":{"id":"f1","name":"now"}},{"functionCall":{"id":"f2","name":"now","args":null}}`, "STOP")), calls: []string{`f1 now {}`, `f2 now {}`}},
		{edge: "the same call twice", body: sse(chunkOf(`{"functionCall":{"name":"now","args":{}}}`, ""), chunkOf(`{"functionCall":{"name":"now","args":{}}}`, "STOP")), calls: []string{`* now {}`, `* now {}`}},
		{edge: "a whole call and no reason", body: sse(chunkOf(`{"functionCall":{"id":"f1","name":"look","args":{"q":1}}}`, "")), calls: []string{`f1 look {"q":1}`}},
		{edge: "parts of other kinds", body: sse(chunkOf(`{"executableCode":{"language":"PYTHON","code":"1"}},`+half, "STOP")), text: "half an ans"},
		{edge: "a list instead of events", body: `[` + chunkOf(half, "") + `,` + chunkOf(``, "STOP") + `]`, text: "half an ans"},

		{edge: "cut in the text", body: sse(chunkOf(half, "")), want: llm.StreamCut, text: "half an ans"},
		{edge: "cut within an event", body: sse(chunkOf(half, "")) + `data: {"candidates":[{"con`, want: llm.StreamCut, text: "half an ans"},
		{edge: "an error in mid-stream", body: sse(chunkOf(half, ""), `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`), want: llm.Overloaded, text: "half an ans"},
		{edge: "the token limit", body: sse(chunkOf(half, "MAX_TOKENS")), want: llm.LengthCut, text: "half an ans"},
		{edge: "safety", body: sse(chunkOf(half, "SAFETY")), want: llm.Filtered, text: "half an ans"},
		{edge: "recitation", body: sse(chunkOf(``, "RECITATION")), want: llm.Filtered},
		{edge: "another reason", body: sse(chunkOf(``, "OTHER")), want: llm.Filtered},
		{edge: "a blocked prompt", body: sse(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}`), want: llm.Filtered, says: "PROHIBITED_CONTENT"},
		{edge: "a malformed call", body: sse(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(look("}]}`), want: llm.Malformed, says: "print(look("},
		{edge: "an unknown tool", body: sse(chunkOf(``, "UNEXPECTED_TOOL_CALL")), want: llm.Malformed},
		{edge: "nothing at all", body: sse(chunkOf(``, "STOP")), want: llm.Empty},
		{edge: "nonsense", body: sse(chunkOf(half, ""), `{"candidates":7}`), want: llm.Malformed, text: "half an ans"},
		{edge: "an error under 200", body: `[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, want: llm.BadRequest},
	} {
		t.Run(c.edge, func(t *testing.T) {
			got, err := spoken(t, "gemini", true, c.body)
			if c.want != "" {
				fail := class(t, err, c.want)
				if partial(fail) != c.text || !strings.Contains(fail.Error(), c.says) {
					t.Errorf("partial %q, want %q; %v", partial(fail), c.text, fail)
				}
				if c.want == llm.Malformed && c.text == "" && !fail.Garbled() {
					t.Error("the model is not told what it wrote")
				}
				return
			}
			ids := map[string]bool{}
			for i := range c.calls {
				id := got.Calls[i].ID
				if id == "" || ids[id] {
					t.Errorf("id %q is empty or given twice", id)
				}
				ids[id] = true
				c.calls[i] = strings.Replace(c.calls[i], "* ", id+" ", 1)
			}
			told(t, got, err, c.text, c.reasoning, c.calls)
		})
	}
}

// What Anthropic and Google count differs from what is billed as input and output.
func TestTokensAreCountedAsBilled(t *testing.T) {
	cached, write := 1.0, 12.5
	price := &llm.Price{Prompt: 10, Cached: &cached, CacheWrite: &write, Completion: 100}
	for _, c := range []struct {
		api, body string
		want      llm.Usage
		cost      float64
	}{
		{
			"anthropic", `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":100,"cache_read_input_tokens":20,"cache_creation_input_tokens":40,"output_tokens":10,"output_tokens_details":{"thinking_tokens":4}}}`,
			llm.Usage{Prompt: 160, Cached: 20, Written: 40, Completion: 10, Reasoning: 4},
			(100*10 + 20*1 + 40*12.5 + 10*100) / 1e6,
		},
		{
			"gemini", `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":20,"toolUsePromptTokenCount":7,"candidatesTokenCount":10,"thoughtsTokenCount":4,"totalTokenCount":121}}`,
			llm.Usage{Prompt: 107, Cached: 20, Completion: 14, Reasoning: 4},
			(87*10 + 20*1 + 14*100) / 1e6,
		},
	} {
		m := &meter{}
		config := single(func(m *llm.ModelConfig) { m.API, m.Price = c.api, price })
		got, err := engine(t, raw("", c.body), config, m).Do(t.Context(), ask("hi"), nil)
		if err != nil || got.Usage != c.want || got.CostUSD == nil || fmt.Sprintf("%.9f", *got.CostUSD) != fmt.Sprintf("%.9f", c.cost) {
			t.Errorf("%s: %+v, %v, cost %v, want %v", c.api, got.Usage, err, *got.CostUSD, c.cost)
		}
		sum := 0
		for _, n := range m.seen[0].Tokens() {
			sum += n
		}
		if sum != c.want.Total() {
			t.Errorf("%s: the meter counts %v, together not %d", c.api, m.seen[0].Tokens(), c.want.Total())
		}
	}
}

// Signed thoughts go back unchanged, in their turn, to the model that signed them; to any other the turn is told in words and calls.
func TestSignedThoughtsGoBackUnchanged(t *testing.T) {
	redacted := `{"type":"message","id":"m1","content":[{"type":"redacted_thinking","data":"xyz=="},{"type":"thinking","thinking":"hm","signature":"sealed-9"},{"type":"text","text":""},` +
		`{"type":"text","text":"I look","citations":null},{"type":"tool_use","id":"toolu_1","name":"look","input":{"q":12345678901234567890}}],"stop_reason":"tool_use"}`
	signed := `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"I look"},{"functionCall":{"name":"look","args":{"q":1}},"thoughtSignature":"c2ln/+=="},{"functionCall":{"name":"look","args":{"q":2}}}]},"finishReason":"STOP"}]}`
	for _, c := range []struct {
		api, body, model string
		own, others      string
	}{
		{
			"anthropic", redacted, "claude",
			`[{"data":"xyz==","type":"redacted_thinking"},{"signature":"sealed-9","thinking":"hm","type":"thinking"},{"text":"I look","type":"text"},{"id":"toolu_1","input":{"q":12345678901234567890},"name":"look","type":"tool_use"}]`,
			`[{"text":"I look","type":"text"},{"id":"toolu_1","input":{"q":12345678901234567890},"name":"look","type":"tool_use"}]`,
		},
		{
			"gemini", signed, "gemini-3-pro",
			`[{"text":"I look"},{"functionCall":{"name":"look","args":{"q":1}},"thoughtSignature":"c2ln/+=="},{"functionCall":{"name":"look","args":{"q":2}}}]`,
			`[{"text":"I look"},{"functionCall":{"args":{"q":1},"name":"look"},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"args":{"q":2},"name":"look"}}]`,
		},
	} {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Body: c.body}, llmtest.Answer{Text: "ok"}, llmtest.Answer{Text: "ok"}))
		named := func(model string) llm.Config {
			return single(func(m *llm.ModelConfig) { m.API, m.Model = c.api, model })
		}
		e := engine(t, server, named(c.model), nil)
		r := ask("hi")
		r.Tools = []llm.Tool{{Name: "look"}}
		first, err := e.Do(t.Context(), r, nil)
		if err != nil || first.Carry == nil {
			t.Fatalf("%s: %+v, %v", c.api, first, err)
		}
		var kept llm.Response // A journal keeps the answer as JSON.
		if data, err := json.Marshal(first); err != nil || json.Unmarshal(data, &kept) != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, kept.Message())
		for i := len(kept.Calls) - 1; i >= 0; i-- { // Results may come in any order.
			r.Messages = append(r.Messages, llm.Result(kept.Calls[i].ID, "seen "+kept.Calls[i].Args))
		}
		for model, want := range map[string]string{c.model: c.own, c.model + "-x": c.others} {
			musttest.Do(t, e.Set(named(model)))
			musttest.Get(e.Do(t.Context(), r, nil))(t)
			asked := server.Asked()
			if got := turnOf(t, asked[len(asked)-1].Body, 1); got != want {
				t.Errorf("%s to %s:\n%s\nwant\n%s", c.api, model, got, want)
			}
		}
	}
}

// turnOf is the content of a turn on the wire, as it stands there.
func turnOf(t *testing.T, body json.RawMessage, n int) string {
	t.Helper()
	var sent struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Contents []struct {
			Parts json.RawMessage `json:"parts"`
		} `json:"contents"`
	}
	musttest.Decode(t, body, &sent)
	if sent.Messages != nil {
		return string(sent.Messages[n].Content)
	}
	return string(sent.Contents[n].Parts)
}

// A scripted provider rejects what the real one rejects, so an answer means that the history was brought into a form that it takes.
func TestAnyHistoryIsBroughtIntoAlternatingSides(t *testing.T) {
	call := func(ids ...string) llm.Message {
		m := llm.Assistant("")
		for _, id := range ids {
			m.Calls = append(m.Calls, llm.Call{ID: id, Name: "look", Args: `{"q":"` + id + `"}`})
		}
		return m
	}
	for name, history := range map[string][]llm.Message{
		"it begins with the model":           {llm.Assistant("Welcome."), llm.User("hi")},
		"it ends with the model":             {llm.User("hi"), llm.Assistant("I was saying")},
		"only instructions":                  {llm.System("Be brief.")},
		"only an empty text":                 {llm.User("")},
		"instructions in the middle":         {llm.System("a"), llm.User("hi"), llm.Assistant("x"), llm.System("Now briefly."), llm.User("go")},
		"two of a side in a row":             {llm.User("a"), llm.User("b"), llm.Assistant("x"), llm.Assistant("y"), llm.User("c")},
		"a call without a result":            {llm.User("hi"), call("a", "b"), llm.Result("b", "seen"), llm.User("go on")},
		"a call at the end":                  {llm.User("hi"), call("a")},
		"calls in a row":                     {llm.User("hi"), call("a"), call("b"), llm.Result("b", "")},
		"a result without a call":            {llm.User("hi"), llm.Result("gone", "seen"), llm.User("go on")},
		"a result behind a word of the user": {llm.User("hi"), call("a"), llm.User("wait"), llm.Result("a", "seen")},
		"the same id twice":                  {llm.User("hi"), call("a"), llm.Result("a", "1"), call("a"), llm.Result("a", "2")},
		"an id of another provider":          {llm.User("hi"), call("functions.look:0", ""), llm.Result("functions.look:0", "1"), llm.Result("functions.look:0", "again")},
		"arguments that are no object":       {llm.User("hi"), {Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: "look", Args: `{"q":`}, {ID: "b", Name: "look", Args: `[1]`}}}, llm.Result("a", "x"), llm.Result("b", "x")},
		"images":                             {{Role: llm.RoleUser, Parts: []llm.Part{{ImageURL: "data:image/jpeg;base64,AAAA"}, {Text: " "}}}},
	} {
		t.Run(name, inEveryDialect(func(t *testing.T, api string) {
			server := llmtest.New(llmtest.Planner{})
			e := engine(t, server, single(func(m *llm.ModelConfig) { m.API, m.Model = api, "gemini-3-flash" }), nil)
			if _, err := e.Do(t.Context(), llm.Request{Messages: history}, nil); err != nil {
				t.Errorf("%v: %s", err, server.Asked()[0].Body)
			}
		}))
	}
}

func TestAnInterruptedTurnIsContinued(t *testing.T) {
	for _, stream := range []bool{false, true} {
		paused := llmtest.Answer{Text: "Searching. ", Reasoning: "hm", Finish: "pause_turn", Usage: &llmtest.Usage{Prompt: 10, Completion: 2}}
		server := llmtest.New(llmtest.Say(paused, paused, llmtest.Answer{Text: "Found.", Usage: &llmtest.Usage{Prompt: 20, Completion: 3}}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.API = "anthropic" }), nil)
		r := ask("hi")
		r.Stream = stream
		got, err := e.Do(t.Context(), r, nil)
		if err != nil || got.Text != "Searching. Searching. Found." || got.Usage.Prompt != 40 || got.Usage.Completion != 7 {
			t.Fatalf("%+v, %v", got, err)
		}
		want := `[{"signature":"sealed-1","thinking":"hm","type":"thinking"},{"text":"Searching. ","type":"text"},` +
			`{"signature":"sealed-2","thinking":"hm","type":"thinking"},{"text":"Searching. ","type":"text"}]`
		if got := turnOf(t, server.Asked()[2].Body, 1); got != want {
			t.Errorf("stream %v: %s", stream, got)
		}
	}
}

func TestWhatAModelRejectsIsLearnedInEveryDialect(t *testing.T) {
	for _, c := range []struct {
		name, api string
		rejects   map[string]string // A text in the body of the request, and what the provider says to it.
		want      []string
		asked     int
	}{
		{"effort", "anthropic", map[string]string{`"adaptive"`: "adaptive thinking is not supported on this model"}, []string{"reasoning_effort"}, 3},
		{"any thought", "anthropic", map[string]string{`"adaptive"`: "This model does not support the effort parameter.", `"budget_tokens"`: "thinking: Extra inputs are not permitted"}, []string{"reasoning_effort", "thinking_budget"}, 4},
		{"temperature", "anthropic", map[string]string{`"temperature"`: "`temperature` is deprecated for this model."}, []string{"temperature"}, 3},
		{"a lower limit", "anthropic", map[string]string{`"max_tokens":32000`: "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5"}, nil, 3},
		{"level", "gemini", map[string]string{`"thinkingLevel"`: "Thinking level is not supported for this model."}, []string{"reasoning_effort"}, 3},
		{"any level", "gemini", map[string]string{`"thinkingConfig"`: `Unknown name "thinkingConfig" at 'generation_config': Cannot find field.`}, []string{"reasoning_effort", "thinking_budget"}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
				for part, says := range c.rejects {
					if strings.Contains(string(q.Body), part) {
						return llmtest.Answer{Status: 400, Error: says}, nil
					}
				}
				return llmtest.Answer{Text: "ok"}, nil
			}))
			e := engine(t, server, single(func(m *llm.ModelConfig) { m.API = c.api }), nil)
			warm := 1.5
			r := ask("hi")
			if c.want == nil || c.want[0] == "temperature" {
				r.Temperature = &warm
			} else {
				r.Effort = "high"
			}
			for range 2 {
				got := musttest.Get(e.Do(t.Context(), r, nil))(t)
				musttest.Equal(t, c.want, got.Dropped)
			}
			if n := len(server.Asked()); n != c.asked {
				t.Errorf("%d requests, want %d: %s", n, c.asked, server.Asked()[n-1].Body)
			}
		})
	}
}

func TestTheProviderIsToldByItsAddress(t *testing.T) {
	for base, want := range map[string]struct {
		api llm.Dialect
		url string
	}{
		"":                                                        {llm.DialectChat, "https://api.openai.com/v1/chat/completions"},
		"https://openrouter.ai/api/v1":                            {llm.DialectChat, "https://openrouter.ai/api/v1/chat/completions"},
		"https://api.anthropic.com":                               {llm.DialectAnthropic, "https://api.anthropic.com/v1/messages"},
		"https://api.anthropic.com/v1/":                           {llm.DialectAnthropic, "https://api.anthropic.com/v1/messages"},
		"https://api.deepseek.com/anthropic":                      {llm.DialectAnthropic, "https://api.deepseek.com/anthropic/v1/messages"},
		"https://generativelanguage.googleapis.com":               {llm.DialectGemini, "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"},
		"https://generativelanguage.googleapis.com/v1":            {llm.DialectGemini, "https://generativelanguage.googleapis.com/v1/models/m:streamGenerateContent?alt=sse"},
		"https://evil.test/generativelanguage.google":             {llm.DialectChat, "https://evil.test/generativelanguage.google/chat/completions"},
		"https://generativelanguage.googleapis.com/v1beta/openai": {llm.DialectChat, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
	} {
		var seen string
		server := llmtest.New(llmtest.Planner{})
		doer := doerFunc(func(r *http.Request) (*http.Response, error) {
			seen = r.URL.String()
			at := strings.Index(r.URL.Path, "/models/")
			for _, end := range []string{"/chat/completions", "/messages"} {
				if strings.HasSuffix(r.URL.Path, end) {
					at = strings.Index(r.URL.Path, end)
				}
			}
			r.URL.Path = r.URL.Path[at:]
			return server.Do(r)
		})
		e := engine(t, doer, llm.Config{llm.DefaultModel: {Model: "m", BaseURL: base, Key: key}}, nil)
		r := ask("hi")
		r.Stream = true
		got, err := e.Do(t.Context(), r, nil)
		if err != nil || got.Dialect != want.api || seen != want.url {
			t.Errorf("%q: %s, %s, %v", base, got.Dialect, seen, err)
		}
	}
	for api, want := range map[string]string{"anthropic": "https://api.anthropic.com/v1/messages", "gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"} {
		var seen string
		doer := doerFunc(func(r *http.Request) (*http.Response, error) {
			seen = r.URL.String()
			return llmtest.New(llmtest.Planner{}).Do(r)
		})
		config := llm.Config{llm.DefaultModel: {Model: "m", API: api}}
		if _, err := engine(t, doer, config, nil).Do(t.Context(), ask("hi"), nil); err != nil || seen != want {
			t.Errorf("%s: %s, %v", api, seen, err)
		}
	}
}

type doerFunc func(*http.Request) (*http.Response, error)

func (f doerFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// Google says in the body when to come back, and calls a limit for the minute a quota.
func TestGooglesLimitsAreToldFromUsedUpQuotas(t *testing.T) {
	const words = `"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"`
	for _, c := range []struct {
		details string
		want    llm.Class
		wait    time.Duration
	}{
		{`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]`, llm.RateLimited, 34500 * time.Millisecond},
		{`[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"12s"}]`, llm.Quota, 12 * time.Second},
		{`[]`, llm.Quota, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			body := `{"error":{` + words + `,"details":` + c.details + `}}`
			none := 0
			e := engine(t, llmtest.New(llmtest.Say(llmtest.Answer{Status: 429, Body: body})), single(func(m *llm.ModelConfig) { m.API, m.Retries = "gemini", &none }), nil)
			_, err := e.Do(t.Context(), ask("hi"), nil)
			if fail := class(t, err, c.want); fail.RetryAfter != c.wait {
				t.Errorf("%s: retry after %s", c.details, fail.RetryAfter)
			}
		})
	}
}

func TestTheIdOfARefusedRequestIsTold(t *testing.T) {
	server := llmtest.New(llmtest.Say(
		llmtest.Answer{Status: 400, Error: "bad", Header: map[string]string{"request-id": "req_header"}},
		llmtest.Answer{Status: 400, Error: "bad"},
	))
	e := engine(t, server, single(func(m *llm.ModelConfig) { m.API = "anthropic" }), nil)
	for _, want := range []string{"req_header", "req_scripted"} {
		_, err := e.Do(t.Context(), ask("hi"), nil)
		if fail := class(t, err, llm.BadRequest); fail.RequestID != want || !strings.Contains(llm.Fault(err).Message, want) {
			t.Errorf("%v", llm.Fault(err))
		}
	}
}
