package llm_test

import (
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
