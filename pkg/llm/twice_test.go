package llm_test

import "testing"

// If a message has a field twice, the last one counts, as in encoding/json.
func TestOfAContentThatIsSaidTwiceTheLastCounts(t *testing.T) {
	for body, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"}],"content":"b"}`: "b",
		`{"content":"a\n","content":"b"}`:                        "b",
		`{"content":"b","content":[{"type":"text","text":"a"}]}`: "a",
		`{"content":"b","content":"a\n"}`:                        "a\n",
	} {
		for _, stream := range []bool{true, false} {
			whole := sse(choice(body), end("stop"), "[DONE]")
			if !stream {
				whole = `{"choices":[{"index":0,"message":` + body + `,"finish_reason":"stop"}]}`
			}
			if got, err := once(t, stream, "", whole); err != nil || got.Text != want {
				t.Errorf("%s, streamed %v: got %q, %v, want %q", body, stream, got.Text, err, want)
			}
		}
	}
}
