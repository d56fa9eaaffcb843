package bench

import (
	"fmt"
	"os"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// readDAG reads the graph from a file with a plan: its SubJobs and their dependencies only, since the SubJobs of the bench
// do nothing.
func readDAG(path string) (baseline.Graph, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--dag: %w", err)
	}
	var plan events.Plan
	if err := events.ReadPlan(text, &plan); err != nil {
		return nil, fmt.Errorf("--dag %s: no plan in native JSON: %w; `jobgraph plan template` shows one", path, err)
	}
	if len(plan.SubJobs) == 0 {
		return nil, fmt.Errorf("--dag %s: the plan has no subjobs; `jobgraph plan template` shows one", path)
	}
	at := make(map[string]int, len(plan.SubJobs))
	for i, s := range plan.SubJobs {
		if _, twice := at[s.ID]; twice || s.ID == "" {
			return nil, fmt.Errorf("--dag %s: subjobs.%d: id %q is empty or there twice", path, i, s.ID)
		}
		at[s.ID] = i
	}
	g := make(baseline.Graph, len(plan.SubJobs))
	for i, s := range plan.SubJobs {
		for _, before := range s.Dependencies {
			n, known := at[before]
			if !known {
				return nil, fmt.Errorf("--dag %s: subjobs.%d depends on %q, which is no SubJob of the plan", path, i, before)
			}
			g[i] = append(g[i], n)
		}
	}
	return g, acyclic(path, g)
}

// acyclic returns an error if a graph has a cycle, since its jobs would never end.
func acyclic(path string, g baseline.Graph) error {
	waits, behind := make([]int, len(g)), make([][]int, len(g))
	var ready []int
	for i, before := range g {
		if waits[i] = len(before); waits[i] == 0 {
			ready = append(ready, i)
		}
		for _, n := range before {
			behind[n] = append(behind[n], i)
		}
	}
	done := 0
	for ; done < len(ready); done++ {
		for _, n := range behind[ready[done]] {
			if waits[n]--; waits[n] == 0 {
				ready = append(ready, n)
			}
		}
	}
	if done < len(g) {
		return fmt.Errorf("--dag %s: %d of %d subjobs depend on each other in a circle; `jobgraph plan check` names them", path, len(g)-done, len(g))
	}
	return nil
}
