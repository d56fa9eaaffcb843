package llm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm"
)

// BenchmarkAnswer measures what a call costs on this side, the provider taking no time: a plan of some 4 kB, whole and in a
// thousand chunks.
func BenchmarkAnswer(b *testing.B) {
	text := strings.Repeat("abcd", 1000)
	chunks := make([]string, 0, 1002)
	for range 1000 {
		chunks = append(chunks, choice(`{"content":"abcd"}`))
	}
	for name, body := range map[string]string{
		"whole":   `{"id":"1","choices":[{"index":0,"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`,
		"chunked": sse(append(chunks, end("stop"), "[DONE]")...),
	} {
		b.Run(name, func(b *testing.B) {
			r := ask("Plan it.")
			r.Stream = name == "chunked"
			b.ReportAllocs()
			for b.Loop() {
				e, err := llm.New(single(nil), llm.Settings{Doer: raw("", body)})
				if err != nil {
					b.Fatal(err)
				}
				if got, err := e.Do(b.Context(), r, func(llm.Delta) {}); err != nil || got.Text != text {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream measures a stream of a thousand chunks beside a plain client, which decodes each of them once into the fields that it
// wants.
func BenchmarkStream(b *testing.B) {
	chunks := make([]string, 0, 1002)
	for range 1000 {
		chunks = append(chunks, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","system_fingerprint":"fp_1",`+
			`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`)
	}
	body := sse(append(chunks, end("stop"), "[DONE]")...)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := plainly(strings.NewReader(body)); err != nil || len(got) != 5000 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		r := ask("Tell it.")
		r.Stream = true
		b.ReportAllocs()
		for b.Loop() {
			e, err := llm.New(single(nil), llm.Settings{Doer: again(body)})
			if err != nil {
				b.Fatal(err)
			}
			if got, err := e.Do(b.Context(), r, func(llm.Delta) {}); err != nil || len(got.Text) != 5000 {
				b.Fatal(len(got.Text), err)
			}
		}
	})
}

// again answers each request with the same body out of memory, so that no scripted model is measured with it.
type again string

// Do is the answer.
func (a again) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// plainly is a client that knows one provider: the text of a stream of chunks.
func plainly(stream io.Reader) (string, error) {
	var text strings.Builder
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !is || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
				FinishReason *string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return "", err
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	return text.String(), lines.Err()
}
