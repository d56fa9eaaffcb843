package graph

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// dag is the graph of a job: its SubJobs, the edges between them, the number per status, and what follows from these alone. It
// decides nothing.
type dag struct {
	nodes []*node
	ids   map[string]int32
	// tally counts steps per status, indexed by place.
	tally [len(statuses)]int
	// spare are preallocated nodes and their states.
	spare []pair
}

// pair keeps a node next to its state in memory.
type pair struct {
	node  node
	state SubJobState
}

// statuses are the statuses of SubJobs, in the order of tally.
var statuses = [...]events.Status{events.Created, events.Ready, events.Running, events.Waiting, events.Finished, events.Failed, events.Stopped, events.Legacy}

// place returns the index of a status in statuses.
func place(s events.Status) int {
	switch s {
	case events.Created:
		return 0
	case events.Ready:
		return 1
	case events.Running:
		return 2
	case events.Waiting:
		return 3
	case events.Finished:
		return 4
	case events.Failed:
		return 5
	case events.Stopped:
		return 6
	}
	return 7
}

// fewPlaces is the number of entries up to which a linear search is faster than a set.
const fewPlaces = 16

// skipped reports whether a step is skipped: its condition is false, or all its predecessors were skipped.
func (g *dag) skipped(n *node) bool {
	all := len(n.Deps) > 0
	for _, at := range n.Deps {
		all = all && g.nodes[at].Skipped
	}
	return all || n.when != nil && !n.when.holds(func(id, path string) any { return g.value(n, id, path) })
}

func (g *dag) lastResult() uint64 {
	var last uint64
	for _, n := range g.nodes {
		if n.step() && n.Status == events.Finished {
			last = max(last, n.ResultSeq)
		}
	}
	return last
}

// tails returns the SubJobs whose results make the job's result: those that no finished successor has used.
func (g *dag) tails() []int32 {
	var tails []int32
	for _, n := range g.nodes {
		if !n.step() || n.Status != events.Finished || n.Skipped {
			continue
		}
		used := func(at int32) bool { s := g.nodes[at]; return s.Status == events.Finished && !s.Skipped }
		if !slices.ContainsFunc(n.succs, used) {
			tails = append(tails, n.at)
		}
	}
	return tails
}

func (g *dag) firstError(status events.Status) *events.Fault {
	for _, n := range g.nodes {
		if n.step() && n.Status == status && n.Error != nil && n.Error.Code != events.CodeUnreachableAfter {
			f := *n.Error
			f.Field = n.ID
			return &f
		}
	}
	return fault(events.CodeExecution, "a SubJob is "+string(status))
}

// nameFinished adds finished work that a plan depends on without listing it, and the predecessors of that work, so that it stays in
// the graph.
func (g *dag) nameFinished(p *events.Plan, named map[string]bool) {
	var reach []*node
	name := func(n *node) {
		if n != nil && !named[n.ID] && n.Status == events.Finished {
			named[n.ID] = true
			reach = append(reach, n)
		}
	}
	for i := range p.SubJobs {
		for _, dep := range p.SubJobs[i].Dependencies {
			name(g.find(dep))
		}
	}
	for i := 0; i < len(reach); i++ {
		for _, at := range reach[i].Deps {
			name(g.nodes[at])
		}
	}
}

// connect gives the nodes of a plan their predecessors, and removes retired ones from all others.
func (g *dag) connect(p *events.Plan) {
	for _, n := range g.nodes {
		if n.step() && n.Status != events.Legacy {
			n.Deps = slices.DeleteFunc(slices.Clone(n.Deps), func(at int32) bool { return g.nodes[at].Status == events.Legacy })
		}
	}
	for i := range p.SubJobs {
		n := g.find(p.SubJobs[i].ID)
		n.Deps = g.places(p.SubJobs[i].Dependencies)
	}
}

// places returns the positions of ids, each once, in their order.
func (g *dag) places(ids []string) []int32 {
	list := make([]int32, 0, len(ids))
	if len(ids) <= fewPlaces {
		for _, id := range ids {
			if at := g.ids[id]; !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
		return list
	}
	seen := make(map[int32]bool, len(ids))
	for _, id := range ids {
		if at := g.ids[id]; !seen[at] {
			seen[at] = true
			list = append(list, at)
		}
	}
	return list
}

// unchanged reports whether an unfinished node has the text and the predecessors that a new plan gives it.
func (g *dag) unchanged(n *node, s *events.SubJob) bool {
	if !n.live() || n.Hash != specHash(s) || s.Done() || len(n.Deps) != len(s.Dependencies) {
		return false
	}
	for i, at := range n.Deps {
		if g.nodes[at].ID != s.Dependencies[i] {
			return false
		}
	}
	return true
}

// relink derives successors, counts of unfinished predecessors and wanted values for the whole graph, in O(nodes + edges).
func (g *dag) relink() {
	for _, n := range g.nodes {
		n.succs = nil
		if n.Status != events.Finished {
			n.Selects = nil // A finished node keeps the values that were requested.
		}
	}
	for _, n := range g.nodes {
		if !n.step() || n.Status == events.Legacy {
			continue
		}
		for _, at := range n.Deps {
			g.nodes[at].succs = append(g.nodes[at].succs, n.at)
		}
		g.recount(n)
		g.want(n)
	}
}

// want tells predecessors which values the condition of a node reads.
func (g *dag) want(n *node) {
	if n.when == nil {
		return
	}
	for _, o := range n.when.operands() {
		for _, p := range g.sources(n, o.subjob) {
			if !slices.Contains(p.Selects, o.path) {
				p.Selects = append(p.Selects, o.path)
			}
		}
	}
}

// sources returns the nodes that a name in a condition refers to: a sibling in the same plan, or its replacements after a split.
func (g *dag) sources(n *node, name string) []*node {
	scope := n.ID[:len(n.ID)-len(n.Spec.ID)]
	p := g.find(scope + name)
	if p == nil {
		return nil
	}
	return g.replacements(p)
}

// replacements returns a node and the nodes that it was split into.
func (g *dag) replacements(p *node) []*node {
	found := []*node{p}
	for i := 0; i < len(found); i++ {
		for _, at := range found[i].ReplacedBy {
			found = append(found, g.nodes[at])
		}
	}
	return found
}

// value returns what a condition reads: the first value among the sources; nil if there is none.
func (g *dag) value(n *node, name, path string) any {
	for _, p := range g.sources(n, name) {
		if raw, ok := p.Selected[path]; ok && p.Status == events.Finished {
			return scalar(raw)
		}
	}
	return nil
}

// join links the nodes that replace x with its neighbours. It changes nothing else: x stays among the successors of its
// predecessors, where legacy nodes are ignored.
func (g *dag) join(x *node, fresh []*node) {
	for _, n := range fresh {
		for _, at := range n.Deps {
			g.nodes[at].succs = append(g.nodes[at].succs, n.at)
		}
	}
	for _, n := range fresh {
		if len(n.succs) == 0 {
			x.ReplacedBy = append(x.ReplacedBy, n.at)
		}
	}
	for _, at := range x.succs {
		s := g.nodes[at]
		if s.Status == events.Legacy {
			continue
		}
		s.Deps = append(slices.DeleteFunc(s.Deps, func(d int32) bool { return d == x.at }), x.ReplacedBy...)
		s.unfinished += len(x.ReplacedBy) - 1
		for _, tail := range x.ReplacedBy {
			g.nodes[tail].succs = append(g.nodes[tail].succs, at)
		}
		g.want(s)
	}
}

func (g *dag) in(statuses ...events.Status) []*node {
	var found []*node
	for _, n := range g.nodes {
		if n.step() && slices.Contains(statuses, n.Status) {
			found = append(found, n)
		}
	}
	return found
}

func (g *dag) number(s events.Status) int { return g.tally[place(s)] }

// size returns the number of SubJobs of the current graph.
func (g *dag) size() int {
	total := 0
	for _, n := range g.tally[:place(events.Legacy)] {
		total += n
	}
	return total
}

func (g *dag) plan() *node { return g.nodes[0] }

func (g *dag) find(id string) *node {
	if at, ok := g.ids[id]; ok {
		return g.nodes[at]
	}
	return nil
}

// reserve allocates nodes that are about to be added.
func (g *dag) reserve(n int) {
	g.nodes = slices.Grow(g.nodes, n)
	g.spare = make([]pair, n)
}

// add appends a node; the caller links it.
func (g *dag) add(s SubJobState) *node {
	if len(g.spare) == 0 {
		g.spare = make([]pair, 1)
	}
	p := &g.spare[0]
	g.spare = g.spare[1:]
	p.state = s
	n := &p.node
	n.SubJobState, n.at = &p.state, int32(len(g.nodes))
	g.nodes = append(g.nodes, n)
	g.ids[s.ID] = n.at
	if n.step() {
		g.tally[place(s.Status)]++
	}
	return n
}

// known finds a step of any version of the graph, for a plan that names it again.
func (g *dag) known(id string) *node {
	if n := g.find(id); n != nil && n.step() {
		return n
	}
	return nil
}

// revivable returns the roots and everything that depends on them, whatever its status, except nodes that could not start:
// dependents of a FAILED or STOPPED node that is not among them.
func (g *dag) revivable(roots []*node) []*node {
	all := g.downstream(roots, func(*node) bool { return true })
	in := make(map[int32]bool, len(all))
	for _, n := range all {
		in[n.at] = true
	}
	var out []*node
	for _, n := range all {
		if slices.ContainsFunc(n.Deps, func(at int32) bool { return !in[at] && g.dead(at) }) {
			out = append(out, n)
			delete(in, n.at)
		}
	}
	// A node that runs again depends on its predecessors, even if its last result came with the plan.
	for i := 0; i < len(out); i++ {
		for _, at := range out[i].succs {
			if in[at] {
				out = append(out, g.nodes[at])
				delete(in, at)
			}
		}
	}
	return slices.DeleteFunc(all, func(n *node) bool { return !in[n.at] })
}

// dead reports whether a node can run again only after a request.
func (g *dag) dead(at int32) bool {
	s := g.nodes[at].Status
	return s == events.Failed || s == events.Stopped
}

// downstream collects nodes and their dependents, as long as keep returns true, each once. It stops at results that came with the
// plan: they do not depend on their predecessors.
func (g *dag) downstream(roots []*node, keep func(*node) bool) []*node {
	seen := make(map[int32]bool, len(roots))
	var all []*node
	visit := func(n *node) {
		if !seen[n.at] && n.Status != events.Legacy && keep(n) {
			seen[n.at] = true
			all = append(all, n)
		}
	}
	for _, n := range roots {
		visit(n)
	}
	for i := 0; i < len(all); i++ {
		for _, at := range all[i].succs {
			if s := g.nodes[at]; !s.Given {
				visit(s)
			}
		}
	}
	return all
}

func (g *dag) recount(n *node) {
	n.unfinished = 0
	for _, at := range n.Deps {
		if g.nodes[at].Status != events.Finished {
			n.unfinished++
		}
	}
}

// count fills counts with the number of steps per status.
func (g *dag) count(counts map[events.Status]int) {
	clear(counts)
	for i, s := range statuses {
		if g.tally[i] > 0 {
			counts[s] = g.tally[i]
		}
	}
}

// set gives a node another status.
func (g *dag) set(n *node, to events.Status) {
	if n.step() {
		g.tally[place(n.Status)]--
		g.tally[place(to)]++
	}
	n.Status = to
}

// restore makes the graph of saved nodes.
func (g *dag) restore(saved []*SubJobState) {
	for _, s := range saved {
		n := &node{SubJobState: s, at: int32(len(g.nodes)), when: condition(s.When)}
		g.nodes = append(g.nodes, n)
		g.ids[s.ID] = n.at
	}
	for _, n := range g.nodes {
		if !n.step() {
			continue
		}
		if n.Status != events.Legacy {
			for _, at := range n.Deps {
				g.nodes[at].succs = append(g.nodes[at].succs, n.at)
			}
		}
		g.recount(n)
		g.tally[place(n.Status)]++
	}
}
