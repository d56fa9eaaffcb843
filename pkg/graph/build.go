package graph

import (
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// install makes a plan the graph of the job: finished work that the plan names again is kept, work that is unchanged goes
// on, everything else of the former graph becomes legacy.
func (j *Job) install(p *events.Plan, why string) {
	named := make(map[string]bool, len(p.SubJobs))
	var added, removed []string
	var fresh []*node
	for i := range p.SubJobs {
		named[p.SubJobs[i].ID] = true
	}
	j.nameFinished(p, named)
	j.reserve(len(p.SubJobs))
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		n := j.find(s.ID)
		if n != nil && j.keeps(n, s) {
			continue
		}
		if n == nil {
			n = j.add(SubJobState{ID: s.ID, Status: events.Created})
		} else {
			removed = append(removed, s.ID)
			j.reset(n, why)
		}
		j.describe(n, s)
		n.LifeCycle, n.ReplacedBy = value(s.LifeCycle, j.Rules.LifeCycle), nil
		fresh = append(fresh, n)
		added = append(added, s.ID)
	}
	for _, n := range j.nodes {
		if n.step() && !named[n.ID] && n.Status != events.Legacy {
			removed = append(removed, n.ID)
			j.retire(n, why)
		}
	}
	j.connect(p)
	j.Title = cut(p.Title, 200)
	j.relink()
	j.arrive(fresh, p, "")
	for _, n := range j.nodes {
		if n.step() && n.live() && n.unfinished == 0 {
			j.look(n)
		}
	}
	j.replaced("", added, removed)
}

// nameFinished adds what a plan depends on without listing it, and what that depends on: finished work that stays.
func (j *Job) nameFinished(p *events.Plan, named map[string]bool) {
	var reach []*node
	name := func(n *node) {
		if n != nil && !named[n.ID] && n.Status == events.Finished {
			named[n.ID] = true
			reach = append(reach, n)
		}
	}
	for i := range p.SubJobs {
		for _, dep := range p.SubJobs[i].Dependencies {
			name(j.find(dep))
		}
	}
	for i := 0; i < len(reach); i++ {
		for _, at := range reach[i].Deps {
			name(j.nodes[at])
		}
	}
}

// connect gives the nodes of a plan the predecessors it says, and takes retired ones from all others.
func (j *Job) connect(p *events.Plan) {
	for _, n := range j.nodes {
		if n.step() && n.Status != events.Legacy {
			n.Deps = slices.DeleteFunc(slices.Clone(n.Deps), func(at int32) bool { return j.nodes[at].Status == events.Legacy })
		}
	}
	for i := range p.SubJobs {
		n := j.find(p.SubJobs[i].ID)
		n.Deps = j.places(p.SubJobs[i].Dependencies)
	}
}

// fewPlaces is how many entries are looked through quicker than a set of them is made.
const fewPlaces = 16

// places are the nodes of ids, each once, in their order.
func (j *Job) places(ids []string) []int32 {
	list := make([]int32, 0, len(ids))
	if len(ids) <= fewPlaces {
		for _, id := range ids {
			if at := j.ids[id]; !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
		return list
	}
	seen := make(map[int32]bool, len(ids))
	for _, id := range ids {
		if at := j.ids[id]; !seen[at] {
			seen[at] = true
			list = append(list, at)
		}
	}
	return list
}

// keeps reports whether a node may stay as it is under a new plan.
func (j *Job) keeps(n *node, s *events.SubJob) bool {
	if n.Status == events.Finished {
		return true
	}
	if !j.unchanged(n, s) {
		return false
	}
	j.limit(n, s)
	return true
}

// unchanged reports whether a node that is still to be done has the text and the predecessors that a new plan gives it.
func (j *Job) unchanged(n *node, s *events.SubJob) bool {
	if !n.live() || n.Hash != specHash(s) || s.Done() || len(n.Deps) != len(s.Dependencies) {
		return false
	}
	for i, at := range n.Deps {
		if j.nodes[at].ID != s.Dependencies[i] {
			return false
		}
	}
	return true
}

// limit takes over what a plan says of a SubJob that no run has to know.
func (j *Job) limit(n *node, s *events.SubJob) {
	n.Title = cut(s.Title, 120)
	n.RetryLimit = value(s.Retries, j.Rules.Retries)
	n.Timeout = 0
	if s.Timeout != nil {
		n.Timeout = *s.Timeout
	}
}

// describe writes the plan's text of a SubJob into its node.
func (j *Job) describe(n *node, s *events.SubJob) {
	n.Expert, n.Pool, n.Pure = s.Expert, s.Pool, s.Pure
	if !events.ValidID(n.Pool) {
		n.Pool = events.DefaultPool
	}
	if !events.ValidID(n.Expert) {
		n.Expert = "" // Only a step that arrives with its result.
	}
	j.limit(n, s)
	if s.Handoff {
		n.Session = ChildSession(j.State.ID, n.ID)
	}
	n.Spec = Spec{Seq: j.now.Seq, ID: s.ID}
	n.Hash = specHash(s)
	n.When, n.Selects, n.when = s.When, nil, condition(s.When)
}

func value(given *int, otherwise int) int {
	if given != nil {
		return max(0, *given)
	}
	return otherwise
}

// retire takes a node out of the graph: kept for audit, never executed.
func (j *Job) retire(n *node, why string) {
	j.closeRun(n, "the plan was changed")
	j.withdraw(n)
	j.keepVersion(n, why)
	j.move(n, events.Legacy, "replaced")
}

// relink derives successors, counts of unfinished predecessors and wanted values for the whole graph, in O(nodes + edges).
func (j *Job) relink() {
	for _, n := range j.nodes {
		n.succs = nil
		if n.Status != events.Finished {
			n.Selects = nil // A finished one keeps what it was asked for.
		}
	}
	for _, n := range j.nodes {
		if !n.step() || n.Status == events.Legacy {
			continue
		}
		for _, at := range n.Deps {
			j.nodes[at].succs = append(j.nodes[at].succs, n.at)
		}
		j.recount(n)
		j.want(n)
	}
}

// want tells predecessors which values the condition of a node reads.
func (j *Job) want(n *node) {
	if n.when == nil {
		return
	}
	for _, o := range n.when.operands() {
		for _, p := range j.sources(n, o.subjob) {
			if !slices.Contains(p.Selects, o.path) {
				p.Selects = append(p.Selects, o.path)
			}
		}
	}
}

// sources are the nodes that a name in a condition means: a sibling in the same plan, or what it was split into.
func (j *Job) sources(n *node, name string) []*node {
	scope := n.ID[:len(n.ID)-len(n.Spec.ID)]
	p := j.find(scope + name)
	if p == nil {
		return nil
	}
	return j.replacements(p)
}

// replacements are a node and what it was split into.
func (j *Job) replacements(p *node) []*node {
	found := []*node{p}
	for i := 0; i < len(found); i++ {
		for _, at := range found[i].ReplacedBy {
			found = append(found, j.nodes[at])
		}
	}
	return found
}

// value is what a condition reads: the first of the sources that has it; nil when none does.
func (j *Job) value(n *node, name, path string) any {
	for _, p := range j.sources(n, name) {
		if raw, ok := p.Selected[path]; ok && p.Status == events.Finished {
			return scalar(raw)
		}
	}
	return nil
}

// arrive finishes new nodes that came with a result and looks at the others.
func (j *Job) arrive(fresh []*node, p *events.Plan, scope string) {
	done := map[string]*events.SubJob{}
	for i := range p.SubJobs {
		if s := &p.SubJobs[i]; s.Done() {
			done[scope+s.ID] = s
		}
	}
	for _, n := range fresh {
		if s := done[n.ID]; s != nil {
			n.Given, n.ResultSeq = true, j.now.Seq
			j.selectValues(n, s.ExecutionRes, nil)
			j.complete(n, "completed")
		}
	}
	for _, n := range fresh {
		j.look(n)
	}
}

// replaced starts a new version of the graph and owes the fact of it, unless it is the first.
func (j *Job) replaced(subjob string, added, removed []string) {
	j.PlanVersion++
	if j.PlanVersion == 1 {
		return
	}
	most := func(ids []string) []string { return ids[:min(len(ids), maxListed)] }
	j.owe(events.KindGraphReplaced, strconv.Itoa(j.PlanVersion), events.GraphReplaced{
		SubJob:      subjob,
		PlanVersion: j.PlanVersion, Added: most(added), Removed: most(removed), Cause: j.now.Seq,
	})
}

// maxListed bounds the ids listed in graph.replaced; the state has them all.
const maxListed = 1000

// splice puts a graph in the place of one node: every head gets all its predecessors, every tail feeds all its successors.
func (j *Job) splice(x *node, p *events.Plan) {
	scope := x.ID + "~" + strconv.Itoa(x.Run) + "~"
	fresh := make([]*node, len(p.SubJobs))
	j.reserve(len(p.SubJobs))
	var added []string
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		n := j.add(SubJobState{ID: scope + s.ID, Status: events.Created})
		j.describe(n, s)
		n.LifeCycle = x.LifeCycle
		fresh[i] = n
		added = append(added, n.ID)
	}
	for i, n := range fresh {
		for _, dep := range p.SubJobs[i].Dependencies {
			if at := j.ids[scope+dep]; !slices.Contains(n.Deps, at) {
				n.Deps = append(n.Deps, at)
			}
		}
		if len(n.Deps) == 0 {
			n.Deps = slices.Clone(x.Deps)
		}
	}
	j.join(x, fresh)
	j.keepVersion(x, "split")
	j.move(x, events.Legacy, "replaced")
	for _, n := range fresh {
		j.recount(n)
		j.want(n)
	}
	j.arrive(fresh, p, scope)
	j.replaced(x.ID, added, []string{x.ID})
}

// join links the nodes that stand in for x with what is around it. It touches nothing else: x stays among the successors of
// its predecessors, where a legacy node is passed over.
func (j *Job) join(x *node, fresh []*node) {
	for _, n := range fresh {
		for _, at := range n.Deps {
			j.nodes[at].succs = append(j.nodes[at].succs, n.at)
		}
	}
	for _, n := range fresh {
		if len(n.succs) == 0 {
			x.ReplacedBy = append(x.ReplacedBy, n.at)
		}
	}
	for _, at := range x.succs {
		s := j.nodes[at]
		if s.Status == events.Legacy {
			continue
		}
		s.Deps = append(slices.DeleteFunc(s.Deps, func(d int32) bool { return d == x.at }), x.ReplacedBy...)
		s.unfinished += len(x.ReplacedBy) - 1
		for _, tail := range x.ReplacedBy {
			j.nodes[tail].succs = append(j.nodes[tail].succs, at)
		}
		j.want(s)
	}
}
