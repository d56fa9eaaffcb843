package graph

import (
	"github.com/jobgraph/jobgraph/pkg/events"
)

// outline is the order of the work: the steps of the present graph, each after its predecessors, otherwise as planned. It is
// computed once per version of the graph, on first use, and is not saved.
type outline struct {
	job *State
	dag *dag
	// version is the PlanVersion that order and places belong to, 0 for none.
	version int
	// order lists positions of steps in the list of nodes; places are their numbers in order, from 1, by position; 0 for nodes that
	// are not steps.
	order  []int32
	places []int32
}

// update computes the order if the graph has changed.
func (o *outline) update() {
	if o.version == o.job.PlanVersion && o.version != 0 {
		return
	}
	o.version, o.order = o.job.PlanVersion, o.order[:0]
	o.places = make([]int32, len(o.dag.nodes))
	var ready heap
	waiting := make([]int32, len(o.dag.nodes))
	for _, n := range o.dag.nodes {
		if !n.listed() {
			continue
		}
		for _, at := range n.Deps {
			if o.dag.nodes[at].listed() {
				waiting[n.at]++
			}
		}
		if waiting[n.at] == 0 {
			ready.push(n.at)
		}
	}
	for len(ready) > 0 {
		at := ready.pop()
		o.order = append(o.order, at)
		o.places[at] = int32(len(o.order))
		for _, next := range o.dag.nodes[at].succs {
			if !o.dag.nodes[next].listed() {
				continue
			}
			if waiting[next]--; waiting[next] == 0 {
				ready.push(next)
			}
		}
	}
}

// listed reports whether a node is a step of the present graph.
func (n *node) listed() bool { return n.step() && n.Status != events.Legacy }

// Placed is a step with its number in the order of the work, from 1.
type Placed struct {
	N int
	*SubJobState
}

// Standing is the place of a step in the present graph.
type Standing struct {
	// Placed is the step itself; N is 0 if the SubJob is not a step of the graph. Of is the number of steps.
	Placed
	Of int
	// Before and After are its first direct predecessors and successors; MoreBefore and MoreAfter count the others.
	Before, After         []Placed
	MoreBefore, MoreAfter int
}

// Steps returns the steps of the present graph in the order of the work, counted from 0: each after its predecessors, otherwise as
// planned. The states are valid until the next Step and must not be changed.
func (j *Job) Steps(yield func(int, *SubJobState) bool) {
	j.outline.update()
	for i, at := range j.outline.order {
		if !yield(i, j.dag.nodes[at].SubJobState) {
			return
		}
	}
}

// Stand fills in the place of a SubJob, with up to most predecessors and as many successors, in their order. Its time is linear
// in the number of neighbours; it reuses the space of s.
func (j *Job) Stand(subjob string, most int, s *Standing) {
	j.outline.update()
	*s = Standing{Of: len(j.outline.order), Before: s.Before[:0], After: s.After[:0]}
	n := j.dag.find(subjob)
	if n == nil || !n.listed() {
		return
	}
	s.Placed = j.outline.placed(n)
	s.Before, s.MoreBefore = j.outline.first(n.Deps, most, s.Before)
	s.After, s.MoreAfter = j.outline.first(n.succs, most, s.After)
}

func (o *outline) placed(n *node) Placed { return Placed{int(o.places[n.at]), n.SubJobState} }

// first returns the first steps of the present graph at positions, and the number of the others.
func (o *outline) first(list []int32, most int, into []Placed) (found []Placed, more int) {
	for _, at := range list {
		switch n := o.dag.nodes[at]; {
		case !n.listed():
		case len(into) < most:
			into = append(into, o.placed(n))
		default:
			more++
		}
	}
	return into, more
}

// Size returns the number of steps of the present graph.
func (j *Job) Size() int { return j.dag.size() }

// Number returns how many steps of the present graph have a status.
func (j *Job) Number(s events.Status) int { return j.dag.number(s) }

// SubJob returns the state of a SubJob, even of one that is no longer part of the graph; nil for an unknown one. It is valid until
// the next Step and must not be changed.
func (j *Job) SubJob(id string) *SubJobState {
	if n := j.dag.find(id); n != nil {
		return n.SubJobState
	}
	return nil
}
