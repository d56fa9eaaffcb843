package graph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// planCheck judges whether a plan can become the graph of a job, or a part of it.
type planCheck struct {
	dag   *dag
	rules *events.Rules
}

// replacedSince is the first version of the rules in which a plan of the whole job may keep conditions that read a split SubJob.
const replacedSince = 4

// checkPlan reports the first reason why a plan cannot become a graph. Planners report every fault to people; this is the
// core's own guard, so that nothing it builds can hang. A plan of the whole job may name steps that exist.
func checkPlan(g *dag, rules *events.Rules, p *events.Plan, whole bool) *events.Fault {
	return planCheck{g, rules}.graph(p, whole)
}

func (k planCheck) graph(p *events.Plan, whole bool) *events.Fault {
	most := k.rules.MaxSteps
	known := func(string) *node { return nil }
	if whole {
		known = k.dag.known
	}
	switch {
	case p == nil || len(p.SubJobs) == 0:
		return fault(events.CodeInvalid, "the plan has no SubJobs")
	case most > 0 && len(p.SubJobs) > most:
		return fault(events.CodeTooLarge, fmt.Sprintf("the plan has %d SubJobs, the limit is %d", len(p.SubJobs), most))
	}
	at := make(map[string]int, len(p.SubJobs))
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		if _, twice := at[s.ID]; twice || !events.ValidID(s.ID) && known(s.ID) == nil {
			return fault(events.CodeDuplicateID, fmt.Sprintf("the id %.80q is used twice or does not fit", s.ID))
		}
		at[s.ID] = i
		old := known(s.ID)
		if kept := old != nil && old.Status == events.Finished; !kept && !s.Done() && (!events.ValidID(s.Expert) || s.Pool != "" && !events.ValidID(s.Pool)) {
			return fault(events.CodeUnknownExpert, fmt.Sprintf("%s names expert %.80q and pool %.80q, which is no address", s.ID, s.Expert, s.Pool))
		}
	}
	if f := k.conditions(p, known); f != nil {
		return f
	}
	if !whole {
		return checkOrder(p, at, func(string) []string { return nil })
	}
	return checkOrder(p, at, k.stays(maps.Clone(at)))
}

// conditions looks for conditions that cannot be decided: over anything but direct predecessors, or over a value of finished work
// that was not kept when it finished. Unchanged steps read what they read before.
func (k planCheck) conditions(p *events.Plan, known func(id string) *node) *events.Fault {
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		c, err := ParseCondition(s.When)
		if err != nil {
			return fault(events.CodeInvalid, "when of "+s.ID+": "+err.Error())
		}
		n := known(s.ID)
		if n != nil && k.rules.Version >= replacedSince && (n.Status == events.Finished || k.dag.unchanged(n, s)) {
			continue
		}
		for _, o := range c.operands() {
			if f := k.operand(s, o, known(o.subjob)); f != nil {
				return f
			}
		}
	}
	return nil
}

// operand checks one value that a condition reads; d is the step of the job that it names, nil for none.
func (k planCheck) operand(s *events.SubJob, o operand, d *node) *events.Fault {
	read := []*node{d}
	direct := slices.Contains(s.Dependencies, o.subjob)
	if !direct && d != nil && k.rules.Version >= replacedSince {
		read = slices.DeleteFunc(k.dag.replacements(d), func(n *node) bool { return n.Status == events.Legacy })
		direct = len(read) > 0 && !slices.ContainsFunc(read, func(n *node) bool { return !slices.Contains(s.Dependencies, n.ID) })
	}
	if !direct {
		return fault(events.CodeDangling, fmt.Sprintf("when of %s reads %.80q, which is no direct predecessor", s.ID, o.subjob))
	}
	for _, n := range read {
		if n != nil && n.Status == events.Finished && !n.Skipped && !slices.Contains(n.Selects, o.path) {
			f := fault(events.CodeMissing, fmt.Sprintf("when of %s reads %s.%.80s, which was not kept when %s finished", s.ID, n.ID, o.path, n.ID))
			f.Hint = "give the step another id, so that it runs again"
			return f
		}
	}
	return nil
}

// stays returns the predecessors of finished work that would remain with it under a plan that depends on it without listing it; nil
// if there is no such work.
func (k planCheck) stays(listed map[string]int) func(id string) []string {
	return func(id string) []string {
		n := k.dag.known(id)
		if n == nil || n.Status != events.Finished {
			return nil
		}
		deps := []string{}
		for _, at := range n.Deps {
			d := k.dag.nodes[at]
			if _, ok := listed[d.ID]; ok || d.Status == events.Finished {
				deps = append(deps, d.ID)
			}
		}
		return deps
	}
}

// checkOrder looks for dangling dependencies and cycles (Kahn, Topological sorting of large networks, 1962). Finished work
// that the plan depends on without listing it stays with the predecessors it has, so a circle may run through it.
func checkOrder(p *events.Plan, at map[string]int, stays func(id string) []string) *events.Fault {
	deps := make([][]string, len(p.SubJobs))
	for i := range p.SubJobs {
		deps[i] = p.SubJobs[i].Dependencies
	}
	var succs [][]int
	var free, waits []int
	for i := 0; i < len(deps); i++ {
		for _, dep := range deps[i] {
			d, ok := at[dep]
			if !ok {
				before := stays(dep)
				if before == nil {
					return fault(events.CodeDangling, fmt.Sprintf("%s depends on %.80q, which does not exist", p.SubJobs[i].ID, dep))
				}
				d = len(deps)
				at[dep] = d
				deps = append(deps, before)
			}
			succs = append(succs, make([][]int, max(0, d+1-len(succs)))...)
			succs[d] = append(succs[d], i)
		}
		waits = append(waits, len(deps[i]))
		if len(deps[i]) == 0 {
			free = append(free, i)
		}
	}
	done := 0
	for ; done < len(free); done++ {
		if free[done] >= len(succs) {
			continue
		}
		for _, s := range succs[free[done]] {
			if waits[s]--; waits[s] == 0 {
				free = append(free, s)
			}
		}
	}
	if done < len(deps) {
		return fault(events.CodeCycle, "the dependencies run in a circle")
	}
	return nil
}
