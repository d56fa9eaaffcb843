package llm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// FuzzAnyAnswer feeds any bytes as the answer of a provider, in any form. The result is either an answer that is not empty and
// ended for a reason, or one classed error; the same bytes give the same result; keys never show.
func FuzzAnyAnswer(f *testing.F) {
	for _, body := range []string{
		sse(choice(`{"content":"<think>a</think>b"}`), end("stop"), "[DONE]"),
		sse(calls(`{"index":0,"id":"a","function":{"name":"look","arguments":{"q":1}}}`), end("tool_calls")),
		sse(calls(`{"id":"","function":{"name":"look","arguments":"{}{}"}}`), end("tool_calls")),
		"event: error\r\ndata: {\"error\":{\"code\":503}}\r\n\r\n",
		"data: {\"choices\":[{\"delta\":\ndata: {\"content\":[[{\"text\":\"x\"}]]}}]}\n\n",
		`{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}],"usage":{"cost":"1"}}`,
		`{"error":{"message":["a"],"code":1e99,"metadata":{"raw":{}}}}`,
		sse(`{"type":"response.output_item.done","item":{"type":"function_call","name":"x","arguments":[1]}}`, `{"type":"response.completed"}`),
		`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}`,
		named(began, textBlock, halfText, lookBlock, args(`{"q":1}`), ended("tool_use"), stopped),
		`{"type":"message","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"text","text":"x"}],"stop_reason":"pause_turn"}`,
		sse(chunkOf(`{"functionCall":{"name":"look","args":[1]}},{"text":"x","thoughtSignature":"c2ln"}`, "STOP")),
		`[{"promptFeedback":{"blockReason":7}},{"candidates":[{"content":{"parts":[7]}}]}]`,
		"", "\xff\xfe", "[[[[[[[[", "data:\n\n", ":\r\r\r",
	} {
		for form := range byte(8) {
			f.Add(form, body)
		}
	}
	f.Fuzz(func(t *testing.T, form byte, body string) {
		first, firstErr := fuzzed(t, form, body)
		second, secondErr := fuzzed(t, form, body)
		first.Took, second.Took = 0, 0
		if diff := cmp.Diff(first, second); diff != "" || (firstErr == nil) != (secondErr == nil) {
			t.Fatalf("the second time it is another one: %s, %v, %v", diff, firstErr, secondErr)
		}
		if firstErr == nil && first.Finish != llm.FinishCalls && strings.TrimSpace(first.Text) == "" {
			t.Fatalf("an answer that says nothing: %+v", first)
		}
		for _, call := range first.Calls {
			if call.ID == "" || call.Name == "" || call.Args == "" {
				t.Fatalf("an unfinished call: %+v", call)
			}
		}
		var fail *llm.Error
		if firstErr != nil && (!errors.As(firstErr, &fail) || strings.Contains(firstErr.Error(), key)) {
			t.Fatalf("not a classed error without keys: %v", firstErr)
		}
	})
}

func fuzzed(t *testing.T, form byte, body string) (llm.Response, error) {
	t.Helper()
	none := 0
	config := single(func(m *llm.ModelConfig) {
		m.Retries, m.API = &none, "chat"
		m.API = apis[form/2%4]
	})
	r := ask("hi")
	r.Stream = form&1 != 0
	if body == "" {
		body = " "
	}
	return engine(t, raw("", body), config, nil).Do(t.Context(), r, nil)
}

// FuzzCutAnywhere cuts a good stream into chunks and events of any size: the pieces make the same answer. If it is cut off before
// its reason, there is no answer.
func FuzzCutAnywhere(f *testing.F) {
	f.Add("<think>because</think>Hello, 世界", `{"q":"}{\\\"世界"}`, uint8(3))
	f.Add("a", "{}", uint8(1))
	f.Add(" <thinkin", "no json", uint8(2))
	f.Fuzz(func(t *testing.T, text, args string, size uint8) {
		text, args = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(args, "?")
		step := int(size)%7 + 1
		var chunks []string
		for _, piece := range letters(text, step) {
			chunks = append(chunks, choice(`{"content":`+string(musttest.JSON(t, piece))+`}`))
		}
		chunks = append(chunks, calls(`{"index":0,"id":"a","function":{"name":"look","arguments":""}}`))
		for _, piece := range letters(args, step) {
			chunks = append(chunks, calls(`{"index":0,"function":{"arguments":`+string(musttest.JSON(t, piece))+`}}`))
		}
		whole := []string{
			choice(`{"content":` + string(musttest.JSON(t, text)) + `}`),
			calls(`{"index":0,"id":"a","function":{"name":"look","arguments":` + string(musttest.JSON(t, args)) + `}}`), end("tool_calls"),
		}
		want := musttest.Get(once(t, true, "text/event-stream", sse(whole...)))(t)
		got := musttest.Get(once(t, true, "text/event-stream", sse(append(chunks, end("tool_calls"))...)))(t)
		want.Took, got.Took = 0, 0
		musttest.Equal(t, want, got)
		chunks = append(chunks, calls(`{"index":1,"id":"b","function":{"name":"look","arguments":"{"}}`)) // A whole call would be an end.
		if _, err := once(t, true, "text/event-stream", sse(chunks...)); llm.ClassOf(err) != llm.StreamCut || err == nil {
			t.Errorf("a stream without a reason: %v", err)
		}
	})
}

func letters(text string, step int) (pieces []string) {
	all := []rune(text)
	for len(all) > 0 {
		n := min(step, len(all))
		pieces, all = append(pieces, string(all[:n])), all[n:]
	}
	return pieces
}
