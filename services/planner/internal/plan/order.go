package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// judgeOrder reports one cycle of each group of steps that wait for each other. Edges lead from a step to its dependencies.
// It takes time linear in steps and edges and does not recurse.
func (d *draft) judgeOrder(edges [][]int) {
	for _, knot := range knots(edges) {
		cycle := cycleIn(knot, edges)
		names := make([]string, len(cycle))
		for i, at := range cycle {
			names[i] = clip.Marked(d.steps[at].given(), 60)
		}
		d.faults.add(events.CodeCycle, d.steps[cycle[0]].at("dependencies"),
			"each depends on the next: "+abridge(names), "take one of these dependencies out")
	}
}

// given returns the id as the plan gave it.
func (s *step) given() string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

// abridge formats a → b → a, leaving out the middle of a long cycle.
func abridge(names []string) string {
	const ends = 8
	first := names[0]
	if len(names) > 2*ends {
		left := fmt.Sprintf("(%d more)", len(names)-2*ends)
		names = slices.Concat(names[:ends], []string{left}, names[len(names)-ends:])
	}
	return strings.Join(append(names, first), " → ")
}

// knots returns the strongly connected components with more than one step, each sorted, in the order of their first step
// (Tarjan, Depth-first search and linear graph algorithms, 1972).
func knots(edges [][]int) [][]int {
	w := walk{edges: edges, index: make([]int, len(edges)), low: make([]int, len(edges)), next: make([]int, len(edges)), open: make([]bool, len(edges))}
	for root := range edges {
		if w.index[root] == 0 {
			w.from(root)
		}
	}
	slices.SortFunc(w.found, func(a, b []int) int { return a[0] - b[0] })
	return w.found
}

// walk is Tarjan's search with an explicit stack instead of recursion.
type walk struct {
	edges [][]int
	index []int // 1 and up in the order of the first visit; 0 if not visited.
	low   []int
	next  []int // The edge to look at next.
	open  []bool
	stack []int // Visited, but not yet in a component.
	count int
	found [][]int
}

func (w *walk) enter(at int) {
	w.count++
	w.index[at], w.low[at], w.open[at] = w.count, w.count, true
	w.stack = append(w.stack, at)
}

func (w *walk) from(root int) {
	path := []int{root}
	w.enter(root)
	for len(path) > 0 {
		at := path[len(path)-1]
		if w.next[at] < len(w.edges[at]) {
			to := w.edges[at][w.next[at]]
			w.next[at]++
			if w.index[to] == 0 {
				w.enter(to)
				path = append(path, to)
			} else if w.open[to] {
				w.low[at] = min(w.low[at], w.index[to])
			}
			continue
		}
		path = path[:len(path)-1]
		if len(path) > 0 {
			above := path[len(path)-1]
			w.low[above] = min(w.low[above], w.low[at])
		}
		if w.low[at] == w.index[at] {
			w.leave(at)
		}
	}
}

// leave pops a whole component off the stack and keeps it if it has more than one step.
func (w *walk) leave(root int) {
	start := len(w.stack) - 1
	for w.stack[start] != root {
		start--
	}
	knot := slices.Clone(w.stack[start:])
	w.stack = w.stack[:start]
	for _, at := range knot {
		w.open[at] = false
	}
	if len(knot) > 1 {
		slices.Sort(knot)
		w.found = append(w.found, knot)
	}
}

// cycleIn finds a shortest cycle through the first step of a component.
func cycleIn(knot []int, edges [][]int) []int {
	inside := make(map[int]bool, len(knot))
	for _, at := range knot {
		inside[at] = true
	}
	start := knot[0]
	before := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, to := range edges[at] {
			if to == start {
				return backTrack(at, start, before)
			}
			if _, seen := before[to]; !seen && inside[to] {
				before[to] = at
				queue = append(queue, to)
			}
		}
	}
	return knot // Not reached: every step of such a component lies on a cycle.
}

func backTrack(at, start int, before map[int]int) []int {
	cycle := []int{at}
	for at != start {
		at = before[at]
		cycle = append(cycle, at)
	}
	slices.Reverse(cycle)
	return cycle
}
