package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzChunksAreReadAlikeEitherWay compares the scanner of chunks with encoding/json: both read the same, or the scanner declines.
func FuzzChunksAreReadAlikeEitherWay(f *testing.F) {
	for _, text := range []string{
		`{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"logprobs":null,"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":"","reasoning":"b","refusal":null},"finish_reason":"stop"}],"usage":null}`,
		`{"choices":[],"usage":null}`, `{"choices":null}`, `{"choices":[{}],"choices":[{"index":1}]}`, `{"choices":[{"delta":null}]}`, `{}`,
		`{"id":"1","id":"","id":null,"ID":"2","Choices":[{"Delta":{"CONTENT":"x"}}],"choiceſ":[]}`,
		`{"choices":[{"delta":{"content":"a\u00e9"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}", `{"choices":[{"delta":{"content":"世界"}}]}`,
		`{"choices":[{"delta":{"content":[{"text":"x"}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, `{"choices":[{"index":"0"}]}`,
		`{"choices":[{"delta":{"content":"a","content":null},"finish_reason":"a","finish_reason":null}]}`, `{"choices":[{"delta":{"content":null,"content":"a"}}]}`,
		`{"id":1,"model":{},"choices":[{"index":0}]}`, `{"id":"a"} x`, `{"a":}`, `{"choices":[{"delta":{"content":"a"}},]}`, " {\"id\" : \"a\" } \n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { scannedAlike(t, data, scanChunk) })
}

// scannedAlike fails the test if a scanner reads a text otherwise than encoding/json. It reports whether the scanner read the text.
func scannedAlike[T any](t *testing.T, data []byte, scan func(data []byte) (T, bool)) bool {
	t.Helper()
	got, ok := scan(data)
	if !ok {
		return false
	}
	var want T
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%q is read, and is none: %v", data, err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(content{}, money{}, responsesEvent{})); diff != "" {
		t.Errorf("%q: (-encoding/json +ours)\n%s", data, diff)
	}
	return true
}

// Nearly all chunks of models come in a few forms, and these are read without reflection.
func TestUsualChunksAreScanned(t *testing.T) {
	for _, text := range []string{
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"id":"1","object":"chat.completion.chunk","created":1,"model":"deepseek","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"so"},"logprobs":null,"finish_reason":null}]}`,
		`{"id":"1","provider":"x","model":"y","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","reasoning":null,"reasoning_details":[]},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a \"quoted\" <b>\n\u4e16\ud800"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}",
	} {
		if !scannedAlike(t, []byte(text), scanChunk) {
			t.Errorf("not scanned: %s", text)
		}
	}
}
