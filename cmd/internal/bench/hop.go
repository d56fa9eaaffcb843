package bench

import (
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
)

// hops returns for each node with predecessors the time from the start of the last of them to its own. A node that does
// nothing completes when it starts.
func hops(graphs []baseline.Graph, starts [][]int64) []time.Duration {
	var list []time.Duration
	for k, g := range graphs {
		for n, before := range g {
			if len(before) == 0 {
				continue
			}
			last := starts[k][before[0]]
			for _, p := range before {
				last = max(last, starts[k][p])
			}
			list = append(list, time.Duration(starts[k][n]-last))
		}
	}
	slices.Sort(list)
	return list
}

// window returns the time from the first start to the last.
func window(starts [][]int64) time.Duration {
	first, last := starts[0][0], starts[0][0]
	for _, nodes := range starts {
		first, last = min(first, slices.Min(nodes)), max(last, slices.Max(nodes))
	}
	return time.Duration(last - first)
}

// quantile returns a quantile of a sorted list, 0 for an empty one.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
