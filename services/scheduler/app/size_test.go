package app

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func BenchmarkDeepAndWide(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	var subjobs []events.SubJob
	for i := range 13_000 {
		s := sub("n" + strconv.Itoa(i))
		if i > 0 && i < 10_000 {
			s.Dependencies = append(s.Dependencies, "n"+strconv.Itoa(i-1))
		}
		seen := map[int]bool{i - 1: true}
		for len(s.Dependencies) < min(15, i) {
			if d := r.IntN(i); !seen[d] {
				seen[d] = true
				s.Dependencies = append(s.Dependencies, "n"+strconv.Itoa(d))
			}
		}
		subjobs = append(subjobs, s)
	}
	text := plan(subjobs...)
	benchmark(b, 1, 13_000, func(int) []byte { return text })
}
