package llm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// BenchmarkAnswer measures the cost of a call on this side, with a provider that takes no time: a plan of about 4 kB, whole and in
// a thousand chunks.
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
				e := musttest.Get(llm.New(single(nil), llm.Settings{Doer: raw("", body)}))(b)
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
	thousand := func(chunk string) []string { return slices.Repeat([]string{chunk}, 1000) }
	for _, c := range []struct {
		api, body string
		plain     func(data []byte) (string, error)
	}{
		{"chat", sse(append(thousand(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","system_fingerprint":"fp_1",`+
			`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`), end("stop"), "[DONE]")...), func(data []byte) (text string, err error) {
			var chunk struct {
				Choices []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
					FinishReason *string `json:"finish_reason"`
				} `json:"choices"`
			}
			err = json.Unmarshal(data, &chunk)
			for _, c := range chunk.Choices {
				text += c.Delta.Content
			}
			return text, err
		}},
		{"anthropic", named(slices.Concat([]string{began, textBlock}, thousand(
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`), []string{ended("end_turn"), stopped})...), func(data []byte) (string, error) {
			var event struct {
				Type  string `json:"type"`
				Delta struct {
					Text       string `json:"text"`
					StopReason string `json:"stop_reason"`
				} `json:"delta"`
			}
			err := json.Unmarshal(data, &event)
			return event.Delta.Text, err
		}},
		{"gemini", sse(append(thousand(`{"candidates":[{"content":{"parts":[{"text":" word"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":4,`+
			`"candidatesTokenCount":25,"totalTokenCount":29,"promptTokensDetails":[{"modality":"TEXT","tokenCount":4}]},"modelVersion":"gemini-2.5-flash","responseId":"r"}`),
			chunkOf("", "STOP"))...), func(data []byte) (text string, err error) {
			var chunk struct {
				Candidates []struct {
					Content struct {
						Parts []struct {
							Text string `json:"text"`
						} `json:"parts"`
					} `json:"content"`
					FinishReason string `json:"finishReason"`
				} `json:"candidates"`
				Usage struct {
					Prompt int `json:"promptTokenCount"`
					Answer int `json:"candidatesTokenCount"`
				} `json:"usageMetadata"`
			}
			err = json.Unmarshal(data, &chunk)
			for _, c := range chunk.Candidates {
				for _, p := range c.Content.Parts {
					text += p.Text
				}
			}
			return text, err
		}},
	} {
		b.Run(c.api+"/plain", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := plainly(strings.NewReader(c.body), c.plain); err != nil || len(got) != 5000 {
					b.Fatal(len(got), err)
				}
			}
		})
		b.Run(c.api+"/ours", func(b *testing.B) {
			r := ask("Tell it.")
			r.Stream = true
			b.ReportAllocs()
			for b.Loop() {
				e := musttest.Get(llm.New(single(func(m *llm.ModelConfig) { m.API = c.api }), llm.Settings{Doer: again(c.body)}))(b)
				if got, err := e.Do(b.Context(), r, func(llm.Delta) {}); err != nil || len(got.Text) != 5000 {
					b.Fatal(len(got.Text), err)
				}
			}
		})
	}
}

// again answers each request with the same body out of memory, so that no scripted model is measured with it.
type again string

// Do is the answer.
func (a again) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// plainly is a client that knows one provider: the text of a stream of chunks.
func plainly(stream io.Reader, decode func(data []byte) (string, error)) (string, error) {
	var text strings.Builder
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !is || string(data) == "[DONE]" {
			continue
		}
		piece, err := decode(data)
		if err != nil {
			return "", err
		}
		text.WriteString(piece)
	}
	return text.String(), lines.Err()
}
