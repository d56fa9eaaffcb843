package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Searching a text that contains no secret is the cost of every message.
func BenchmarkNothingFound(b *testing.B) {
	raw := []byte(`{"outcome":"SUCCESS","output":"` + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1400) + `"}`)
	for _, n := range []int{1, 10, 50} {
		var secrets []string
		for i := range n {
			secrets = append(secrets, fmt.Sprintf("s3cret-%d-0123456789abcdef", i*7919))
		}
		r := redact.New(secrets...)
		b.Run(fmt.Sprintf("json/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				_ = r.JSON(raw)
			}
		})
		b.Run(fmt.Sprintf("stream/%d", n), func(b *testing.B) {
			b.SetBytes(64)
			s := r.Stream(false)
			piece := string(raw[100:164])
			for b.Loop() {
				_ = s.Feed(piece)
			}
		})
	}
}
