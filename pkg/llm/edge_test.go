package llm_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// noRetry is a model that gives up at once.
func noRetry() llm.Config {
	none := 0
	return single(func(m *llm.ModelConfig) { m.Retries = &none })
}

// once asks a model that answers with one raw body.
func once(t *testing.T, stream bool, kind, body string) (llm.Response, error) {
	t.Helper()
	r := ask("hi")
	r.Stream = stream
	return engine(t, raw(kind, body), noRetry(), nil).Do(t.Context(), r, nil)
}

// sse is a stream of events, one for each text.
func sse(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// choice is a chunk with one delta.
func choice(delta string) string {
	return `{"id":"1","model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

// calls is a chunk with pieces of calls.
func calls(pieces string) string { return choice(`{"tool_calls":[` + pieces + `]}`) }

func end(reason string) string {
	return `{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// Each row is a sharp edge of the SDK or of a provider that the list of dependencies names.
// proves F-T11
func TestStreamsThatProvidersReallySend(t *testing.T) {
	for _, c := range []struct {
		edge, body      string
		text, reasoning string
		calls           []string // name and arguments
	}{
		{edge: "plain", body: sse(choice(`{"content":"a"}`), choice(`{"content":"b"}`), end("stop"), "[DONE]"), text: "ab"},
		{edge: "no [DONE], but a reason", body: sse(choice(`{"content":"ab"}`), end("stop")), text: "ab"},
		{edge: "no empty line at the end", body: strings.TrimRight(sse(choice(`{"content":"ab"}`), end("stop")), "\n"), text: "ab"},
		{edge: "comments, ids, retry and CRLF", body: ": ping\r\n\r\nid: 7\r\nretry: 10\r\ndata: " + choice(`{"content":"ab"}`) + "\r\n\r\n: ping\r\n\r\ndata:" + end("stop") + "\r\n\r\n", text: "ab"},
		{edge: "lone CR", body: "data: " + choice(`{"content":"ab"}`) + "\r\rdata: " + end("stop") + "\r\r", text: "ab"},
		{edge: "BOM", body: "\ufeffdata: " + choice(`{"content":"ab"}`) + "\n\n" + sse(end("stop")), text: "ab"},
		{edge: "multi-line data", body: "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"ab\"}}]}\n\n" + sse(end("stop")), text: "ab"},
		{edge: "usage chunk without choices", body: sse(choice(`{"content":"ab"}`), end("stop"), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, "[DONE]"), text: "ab"},
		{edge: "null usage and null fields", body: sse(`{"id":null,"model":null,"usage":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"ab","refusal":null,"tool_calls":null,"reasoning":null},"finish_reason":null}]}`, end("stop")), text: "ab"},
		{edge: "list content", body: sse(choice(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), end("stop")), text: "ab"},
		{edge: "list content with thinking", body: sse(choice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ab"}]}`), end("stop")), text: "ab", reasoning: "hm"},
		{edge: "reasoning (OpenRouter, vLLM)", body: sse(choice(`{"reasoning":"hm"}`), choice(`{"content":"ab"}`), end("stop")), text: "ab", reasoning: "hm"},
		{edge: "reasoning_content (DeepSeek)", body: sse(choice(`{"reasoning_content":"hm"}`), choice(`{"content":"ab"}`), end("stop")), text: "ab", reasoning: "hm"},
		{edge: "both, with the same words", body: sse(choice(`{"reasoning":"hm","reasoning_content":"hm"}`), choice(`{"content":"ab"}`), end("stop")), text: "ab", reasoning: "hm"},
		{edge: "<think> split across chunks", body: sse(choice(`{"content":" <th"}`), choice(`{"content":"ink>h"}`), choice(`{"content":"m</thi"}`), choice(`{"content":"nk>\n\nab"}`), end("stop")), text: "ab", reasoning: "h" + "m"},
		{edge: "<think> later is text", body: sse(choice(`{"content":"a <think>b</think>"}`), end("stop")), text: "a <think>b</think>"},
		{edge: "[DONE] without a reason", body: sse(choice(`{"content":"ab"}`), "[DONE]"), text: "ab"},
		{edge: "usage without a reason", body: sse(choice(`{"content":"ab"}`), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`), text: "ab"},
		{edge: "a whole call without a reason", body: sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}}`)), calls: []string{`look {"q":1}`}},
		{edge: "[DONE] behind a call without arguments", body: sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":""}}`), "[DONE]"), calls: []string{`look {}`}},
		{edge: "two <think> blocks at the start", body: sse(choice(`{"content":"<think>h</think>\n<think>m</think>ab"}`), end("stop")), text: "ab", reasoning: "hm"},
		{edge: "a second <think> behind the answer", body: sse(choice(`{"content":"<think>h</think>a\n<thi"}`), choice(`{"content":"nk>m</th"}`), choice(`{"content":"ink>b"}`), end("stop")), text: "a\nb", reasoning: "hm"},
		{edge: "a quoted <think> behind a thought", body: sse(choice(`{"content":"<think>hm</think>write `+"`"+`"}`), choice(`{"content":"<think>`+"`"+`</think>"}`), end("stop")), text: "write `<think>`</think>", reasoning: "hm"},
		{edge: "a second <think> that never closes", body: sse(choice(`{"content":"<think>hm</think>a <think>b"}`), end("stop")), text: "a <think>b", reasoning: "hm"},
		{edge: "<th behind a thought that is no tag", body: sse(choice(`{"content":"<think>hm</think>a <th"}`), choice(`{"content":"ank>"}`), end("stop")), text: "a <thank>", reasoning: "hm"},
		{edge: "<th that is no tag", body: sse(choice(`{"content":"<th"}`), choice(`{"content":"ank>"}`), end("stop")), text: "<thank>"},
		{edge: "finish reason together with content", body: sse(`{"choices":[{"index":0,"delta":{"content":"ab"},"finish_reason":"stop"}]}`), text: "ab"},
		{edge: "finish reason repeated as null", body: sse(choice(`{"content":"ab"}`), end("stop"), choice(`{}`)), text: "ab"},
		{edge: "a second choice", body: sse(`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"ab"}}]}`, end("stop")), text: "ab"},
		{edge: "a whole completion although a stream was asked for", body: `{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"}]}`, text: "ab"},
		{edge: "chunks with message instead of delta", body: sse(`{"choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"stop"}]}`), text: "ab"},
		{edge: "an unknown finish reason", body: sse(choice(`{"content":"ab"}`), end("eos_token")), text: "ab"},
		{
			edge:  "repeated name",
			body:  sse(calls(`{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}`), calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":"}}`), calls(`{"index":0,"function":{"name":"look","arguments":"1}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`},
		},
		{
			edge:  "repeated name after the arguments",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"function":{"name":"look","arguments":""}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`},
		},
		{
			edge:  "name in pieces",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"lo"}}`), calls(`{"index":0,"function":{"name":"ok"}}`), calls(`{"index":0,"function":{"arguments":"{}"}}`), end("tool_calls")),
			calls: []string{`look {}`},
		},
		{
			edge:  "two calls glued on one index, by id",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"id":"b","function":{"name":"look","arguments":"{\"q\":2}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`, `look {"q":2}`},
		},
		{
			edge:  "two calls glued on one index, empty ids",
			body:  sse(calls(`{"index":0,"id":"","function":{"name":"look","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"id":"","function":{"name":"find","arguments":"{\"q\":2}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`, `find {"q":2}`},
		},
		{
			edge:  "two objects glued in one text",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":1}{\"q\":2}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`, `look {"q":2}`},
		},
		{
			edge:  "the same arguments twice",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`},
		},
		{
			edge:  "another id in each chunk of one call",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":"}}`), calls(`{"index":0,"id":"b","function":{"name":"look","arguments":"1}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`},
		},
		{
			edge:  "no index",
			body:  sse(calls(`{"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}},{"id":"b","function":{"name":"find","arguments":"{"}}`), calls(`{"function":{"arguments":"}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`, `find {}`},
		},
		{
			edge:  "interleaved indices",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":"}},{"index":1,"id":"b","function":{"name":"find","arguments":"{\"q\":"}}`), calls(`{"index":1,"function":{"arguments":"2}"}},{"index":0,"function":{"arguments":"1}"}}`), end("tool_calls")),
			calls: []string{`look {"q":1}`, `find {"q":2}`},
		},
		{
			edge:  "object-valued arguments",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":{"q": "世界"}}}`), end("tool_calls")),
			calls: []string{`look {"q":"世界"}`},
		},
		{
			edge:  "null arguments",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":null}}`), end("tool_calls")),
			calls: []string{`look {}`},
		},
		{
			edge:  "brackets and quotes in strings",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":\"}\\\"{\""}}`), calls(`{"index":0,"function":{"name":"look","arguments":"}"}}`), end("tool_calls")),
			calls: []string{`look {"q":"}\"{"}`},
		},
		{
			edge:  "arguments that are no JSON stay as they are",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{q: 1"}}`), end("tool_calls")),
			calls: []string{`look {q: 1`},
		},
		{
			edge:  "calls under finish reason stop",
			body:  sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}`), end("stop")),
			calls: []string{`look {}`},
		},
		{
			edge:  "the old function_call",
			body:  sse(choice(`{"function_call":{"name":"look","arguments":"{\"q\":"}}`), choice(`{"function_call":{"arguments":"1}"}}`), end("function_call")),
			calls: []string{`look {"q":1}`},
		},
	} {
		t.Run(c.edge, func(t *testing.T) {
			got := musttest.Get(once(t, true, "text/event-stream", c.body))(t)
			var made []string
			ids := map[string]bool{"": true}
			for _, call := range got.Calls {
				made = append(made, call.Name+" "+call.Args)
				if ids[call.ID] {
					t.Errorf("id %q is empty or given twice", call.ID)
				}
				ids[call.ID] = true
			}
			if got.Text != c.text || got.Reasoning != c.reasoning {
				t.Errorf("text %q, reasoning %q; want %q, %q", got.Text, got.Reasoning, c.text, c.reasoning)
			}
			musttest.Equal(t, c.calls, made)
			if wantFinish := map[bool]llm.Finish{true: llm.FinishCalls, false: llm.FinishStop}[len(c.calls) > 0]; got.Finish != wantFinish {
				t.Errorf("finish %s, want %s", got.Finish, wantFinish)
			}
		})
	}
}

// Each row is an answer that must not be taken for one.
func TestAnswersThatAreNotBelieved(t *testing.T) {
	const page = "<html><body>Bad gateway</body></html>"
	text := choice(`{"content":"half an ans"}`)
	for _, c := range []struct {
		edge, body string
		stream     bool
		want       llm.Class
		partial    string
	}{
		{"a stream cut without [DONE] and reason", sse(text), true, llm.StreamCut, "half an ans"},
		{"[DONE] within a call", sse(text, calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":"}}`), "[DONE]"), true, llm.StreamCut, "half an ans"},
		{"[DONE] behind a thought", sse(choice(`{"reasoning":"hm"}`), "[DONE]"), true, llm.StreamCut, ""},
		{"a cut between two calls", sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}`), calls(`{"index":1,"id":"b","function":{"name":"find","arguments":"{\"q"}}`)), true, llm.StreamCut, ""},
		{"a cut before the arguments of a call", sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":""}}`)), true, llm.StreamCut, ""},
		{"usage in the middle", sse(text, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, choice(`{"content":" and"}`)), true, llm.StreamCut, "half an ans and"},
		{"a stream cut within an event", sse(text) + `data: {"choices":[{"index":0,"del`, true, llm.StreamCut, "half an ans"},
		{"an empty stream", "", true, llm.StreamCut, ""},
		{"only comments", ": ping\n\n: ping\n\n", true, llm.StreamCut, ""},
		{"nonsense in a stream", sse(text, `{"choices":!}`, end("stop")), true, llm.Malformed, "half an ans"},
		{"an error inside a normal chunk (OpenRouter)", sse(text, `{"id":"1","error":{"code":502,"message":"upstream broke"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, "[DONE]"), true, llm.Unavailable, "half an ans"},
		{"an error inside a choice", sse(text, `{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":429,"message":"slow down"}}]}`), true, llm.RateLimited, "half an ans"},
		{"an error event", sse(text) + "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", true, llm.Overloaded, "half an ans"},
		{"an error as data", sse(text, `{"error":{"message":"bad","type":"invalid_request_error"}}`), true, llm.BadRequest, "half an ans"},
		{"an error as a text", sse(`{"error":"it broke"}`), true, llm.Unavailable, ""},
		{"a token limit inside a chunk", sse(text, `{"error":{"message":"max completion tokens reached before generating a valid document","code":"json_validate_failed"}}`), true, llm.LengthCut, "half an ans"},
		{"a call that failed inside a chunk", sse(`{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<look>"}}`), true, llm.Malformed, ""},
		{"finish reason error", sse(text, end("error")), true, llm.Unavailable, "half an ans"},
		{"length in a stream", sse(text, end("length")), true, llm.LengthCut, "half an ans"},
		{"length within a call", sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\":"}}`), end("length")), true, llm.LengthCut, ""},
		{"content filter in a stream", sse(text, end("content_filter")), true, llm.Filtered, "half an ans"},
		{"refusal in a stream", sse(choice(`{"refusal":"I can"}`), choice(`{"refusal":"not"}`), end("stop")), true, llm.Refused, ""},
		{"a finished stream that says nothing", sse(choice(`{"content":" \n"}`), end("stop")), true, llm.Empty, " \n"},
		{"thought without an answer", sse(choice(`{"content":"<think>hm"}`), end("stop")), true, llm.Empty, ""},
		{"no choices in a stream", sse(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0}}`, "[DONE]"), true, llm.StreamCut, ""},
		{"a call without a name", sse(text, calls(`{"index":0,"id":"a","function":{"arguments":"{\"q\":1}"}}`), end("tool_calls")), true, llm.Malformed, "half an ans"},
		{"a page instead of a stream", page, true, llm.Malformed, ""},
		{"an error in one piece although a stream was asked for", `{"error":{"message":"busy","code":503}}`, true, llm.Overloaded, ""},
		{"200 with an error", `{"error":{"message":"rate limit reached","code":429}}`, false, llm.RateLimited, ""},
		{"200 with an error without a code", `{"error":{"message":"it broke"}}`, false, llm.Unavailable, ""},
		{"200 with an error as text", `{"error":"model not loaded"}`, false, llm.Unavailable, ""},
		{"200 with an error and empty choices", `{"id":"","choices":[],"error":{"message":"x","code":"server_error"}}`, false, llm.Unavailable, ""},
		{"no choices", `{"id":"1","choices":[]}`, false, llm.Malformed, ""},
		{"null choices", `{"id":"1","choices":null}`, false, llm.Malformed, ""},
		{"an old server's error form", `{"object":"error","message":"This model's maximum context length is 4096 tokens","code":40303}`, false, llm.ContextTooLong, ""},
		{"an empty body", ``, false, llm.Malformed, ""},
		{"half a body", `{"id":"1","choices":[{"message":{"content":"ab"`, false, llm.Malformed, ""},
		{"a page", page, false, llm.Malformed, ""},
		{"length", `{"choices":[{"message":{"content":"half"},"finish_reason":"length"}]}`, false, llm.LengthCut, "half"},
		{"content filter", `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`, false, llm.Filtered, ""},
		{"refusal", `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`, false, llm.Refused, ""},
		{"refusal inside of list content", `{"choices":[{"message":{"content":[{"type":"refusal","refusal":"no"}]},"finish_reason":"stop"}]}`, false, llm.Refused, ""},
		{"an empty answer", `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, false, llm.Empty, ""},
	} {
		t.Run(c.edge, func(t *testing.T) {
			kind := "application/json"
			if c.stream && c.body != page {
				kind = "text/event-stream"
			}
			if c.stream && strings.HasPrefix(c.body, "{") {
				kind = "application/json"
			}
			if c.body == page {
				kind = "text/html"
			}
			body := c.body
			if body == "" {
				body = "\n"
			}
			_, err := once(t, c.stream, kind, body)
			fail := class(t, err, c.want)
			if got := partial(fail); got != c.partial {
				t.Errorf("partial %q, want %q", got, c.partial)
			}
			if strings.Contains(c.body, "tool_use_failed") && !fail.Garbled() {
				t.Error("the model is not told what it wrote")
			}
		})
	}
}

func partial(e *llm.Error) string {
	if e.Partial == nil {
		return ""
	}
	return e.Partial.Text
}

func TestWholeAnswersThatProvidersReallySend(t *testing.T) {
	for _, c := range []struct {
		edge, body      string
		text, reasoning string
		calls           int
	}{
		{"no finish reason", `{"choices":[{"message":{"content":"ab"}}]}`, "ab", "", 0},
		{"list content", `{"choices":[{"message":{"content":[{"type":"text","text":"ab"}]},"finish_reason":"stop"}]}`, "ab", "", 0},
		{"reasoning", `{"choices":[{"message":{"content":"ab","reasoning":"hm"},"finish_reason":"stop"}]}`, "ab", "hm", 0},
		{"reasoning as an object", `{"choices":[{"message":{"content":"ab","reasoning":{"content":"hm"}},"finish_reason":"stop"}]}`, "ab", "hm", 0},
		{"<think>", `{"choices":[{"message":{"content":"<think>hm</think>ab"},"finish_reason":"stop"}]}`, "ab", "hm", 0},
		{"two thoughts", `{"choices":[{"message":{"content":"<think>h</think>\n<thinking>m</thinking>ab"},"finish_reason":"stop"}]}`, "ab", "hm", 0},
		{"object-valued arguments", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":{"q":1}}}]},"finish_reason":"tool_calls"}]}`, "", "", 1},
		{"calls without ids and type", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"look","arguments":"{}"}},{"function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, "", "", 2},
		{"fractional and negative usage", `{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1.5,"completion_tokens":-1,"total_tokens":"x"}}`, "ab", "", 0},
		{"a numeric id", `{"id":7,"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}]}`, "ab", "", 0},
	} {
		t.Run(c.edge, func(t *testing.T) {
			got, err := once(t, false, "application/json", c.body)
			if err != nil || got.Text != c.text || got.Reasoning != c.reasoning || len(got.Calls) != c.calls {
				t.Errorf("%+v, %v", got, err)
			}
			if again, err := once(t, false, "application/json", c.body); err != nil || len(again.Calls) > 0 && again.Calls[0].ID != got.Calls[0].ID {
				t.Errorf("a made id is another one the second time: %+v, %v", again, err)
			}
		})
	}
}

func TestResponsesStreamsThatServersReallySend(t *testing.T) {
	completed := func(output string) string {
		return `{"type":"response.completed","response":{"id":"r","status":"completed","output":` + output + `}}`
	}
	message := `{"type":"message","content":[{"type":"output_text","text":"ab"}]}`
	for _, c := range []struct {
		edge, body string
		text       string
		calls      int
		want       llm.Class
	}{
		{"deltas", sse(`{"type":"response.output_text.delta","delta":"ab"}`, completed(`[`+message+`]`)), "ab", 0, ""},
		{"only items", sse(`{"type":"response.output_item.done","item":`+message+`}`, completed(`[]`)), "ab", 0, ""},
		{"only the end", sse(completed(`[` + message + `]`)), "ab", 0, ""},
		{"unknown events of any shape", sse(`{"type":"response.new.delta","delta":{"x":[1]}}`, `{"type":"response.output_text.delta","delta":"ab"}`, completed(`[{"type":"novelty","content":7}]`)), "ab", 0, ""},
		{"object-valued arguments", sse(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"look","arguments":{"q":1}}}`, completed(`[]`)), "", 1, ""},
		{"cut", sse(`{"type":"response.output_text.delta","delta":"ab"}`), "ab", 0, llm.StreamCut},
		{"cut behind a whole call", sse(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"look","arguments":{"q":1}}}`), "", 0, llm.StreamCut},
		{"failed", sse(`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"}}}`), "", 0, llm.RateLimited},
		{"failed without a reason", sse(`{"type":"response.failed","response":{}}`), "", 0, llm.Unavailable},
		{"incomplete", sse(`{"type":"response.output_text.delta","delta":"ab"}`, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`), "ab", 0, llm.LengthCut},
		{"incomplete without a reason", sse(`{"type":"response.output_text.delta","delta":"ab"}`, `{"type":"response.incomplete"}`), "ab", 0, llm.LengthCut},
		{"filtered", sse(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`), "", 0, llm.Filtered},
		{"an error event", sse(`{"type":"error","code":"server_error","message":"it broke"}`), "", 0, llm.Unavailable},
		{"a refusal", sse(`{"type":"response.refusal.delta","delta":"no"}`, completed(`[]`)), "", 0, llm.Refused},
		{"in one piece", `{"id":"r","status":"completed","output":[` + message + `]}`, "ab", 0, ""},
		{"in one piece, without a status", `{"id":"r","output":[` + message + `]}`, "ab", 0, ""},
	} {
		t.Run(c.edge, func(t *testing.T) {
			kind := "text/event-stream"
			if strings.HasPrefix(c.body, "{") {
				kind = "application/json"
			}
			none := 0
			config := single(func(m *llm.ModelConfig) { m.API, m.Retries = "responses", &none })
			r := ask("hi")
			r.Stream = true
			got, err := engine(t, raw(kind, c.body), config, nil).Do(t.Context(), r, nil)
			if c.want != "" {
				if fail := class(t, err, c.want); partial(fail) != c.text {
					t.Errorf("partial %q, want %q", partial(fail), c.text)
				}
				return
			}
			if err != nil || got.Text != c.text || len(got.Calls) != c.calls {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestEveryScriptedFaultEndsInItsClass(t *testing.T) {
	for _, c := range []struct {
		fault         llmtest.Fault
		whole, stream llm.Class
	}{
		{llmtest.BadJSON, llm.Malformed, llm.Malformed},
		{llmtest.ErrorIn200, llm.Unavailable, llm.Unavailable},
		{llmtest.ErrorInChunk, llm.Unavailable, llm.Unavailable},
		{llmtest.EmptyChoices, llm.Malformed, llm.StreamCut},
		{llmtest.CutStream, llm.StreamCut, llm.StreamCut},
		{llmtest.NoFinish, "", ""},
		{llmtest.Hang, llm.TimedOut, llm.TimedOut},
	} {
		for _, api := range apis {
			for _, stream := range []bool{false, true} {
				want := map[bool]llm.Class{false: c.whole, true: c.stream}[stream]
				switch {
				case c.fault == llmtest.EmptyChoices && (api == "gemini" && !stream || api == "responses" && stream || api == "anthropic" && stream):
					want = llm.Empty // It is said to be complete, and there is no text in it.
				case c.fault == llmtest.NoFinish && stream && (api == "responses" || api == "gemini"):
					want = llm.StreamCut // These APIs always say why a stream ends.
				}
				t.Run(fmt.Sprintf("%s %s stream=%v", c.fault, api, stream), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						none := 0
						server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "some words", Fault: c.fault}))
						e := engine(t, server, single(func(m *llm.ModelConfig) { m.API, m.Retries = api, &none }), nil)
						r := ask("hi")
						r.Stream = stream
						_, err := e.Do(t.Context(), r, nil)
						if want == "" {
							if err != nil {
								t.Error(err)
							}
							return
						}
						class(t, err, want)
					})
				})
			}
		}
	}
}
