package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// startPlanning issues planning work for the whole job, the first time or for its remainder.
func (j *Job) startPlanning(mode events.WorkKind) {
	p := j.plan()
	if p.Status != events.Created {
		p.forget()
		j.move(p, events.Created, "requeued")
	} else {
		j.owe(events.KindJobPlanning, strconv.Itoa(j.Turn), events.JobMoved{Status: events.Planning, Turn: j.Turn, Cause: j.now.Seq})
	}
	p.Mode = mode
	j.PlanRounds++
	j.look(p)
}

// planned applies what a planner states: a graph, a rejection or an answer. Its base is the planning run in its subject; a
// fact about any other run is stale.
func (j *Job) planned(e *events.Event) Effect {
	n, effect := j.run(e)
	if n == nil {
		return j.late(e, planningCost(e.Data), effect)
	}
	if !planningMode(n.Mode) {
		return ignored("run %d of %s is no planning run", e.Run, n.ID)
	}
	j.endRun(n)
	j.spend(planningCost(e.Data))
	switch d := e.Data.(type) {
	case *events.GraphCreated:
		j.graphCreated(n, e, d)
	case *events.PlanRejected:
		j.failNode(n, rejection(d.Faults))
	case *events.JobAnswered:
		j.answered(n, e)
	default:
		j.retry(n, e, e.Fault, 0)
	}
	j.checkBudget()
	return applied
}

func planningCost(data any) events.Spent {
	switch d := data.(type) {
	case *events.GraphCreated:
		return d.Spent
	case *events.PlanRejected:
		return d.Spent
	case *events.JobAnswered:
		return d.Spent
	}
	return events.Spent{}
}

func rejection(faults events.Faults) *events.Fault {
	if len(faults) == 0 {
		return fault(events.CodeRejected, "the planner gave no plan and no reason")
	}
	f := faults[0]
	if len(faults) > 1 {
		f = events.Fault{Code: events.CodeRejected, Message: cut(faults.Error(), 4000), Hint: faults[0].Hint}
	}
	return &f
}

func (j *Job) answered(n *node, e *events.Event) {
	if !n.planning() || n.Mode != events.WorkPlan {
		j.retry(n, e, fault(events.CodeExecution, "only the planning of a job can answer it"), 0)
		return
	}
	j.AnswerSeq = e.Seq
	j.complete(n, "completed")
	j.end(events.Finished, nil)
}

func (j *Job) graphCreated(n *node, e *events.Event, d *events.GraphCreated) {
	if f := j.checkGraph(d.Plan, n.planning()); f != nil {
		j.retry(n, e, f, 0)
		return
	}
	if n.planning() {
		j.FinalPool, j.FinalPure = d.FinalPool, d.FinalPure
		if j.Rules.Version >= wordsSince {
			j.State.Finalize = d.Finalize
		}
		j.complete(n, "completed")
		j.install(d.Plan, "replan")
		return
	}
	j.splice(n, d.Plan)
}

// known finds a step of any version of the graph, for a plan that names it again.
func (j *Job) known(id string) *node {
	if n := j.find(id); n != nil && n.step() {
		return n
	}
	return nil
}

// checkGraph reports the first thing that makes a plan no graph. Planners report every fault to people; this is the core's
// own guard, so that nothing it builds can hang. A plan of the whole job may name steps that exist.
func (j *Job) checkGraph(p *events.Plan, whole bool) *events.Fault {
	most := j.Rules.MaxSteps
	known := func(string) *node { return nil }
	if whole {
		known = j.known
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
	if f := j.checkConditions(p, known); f != nil {
		return f
	}
	if !whole {
		return checkOrder(p, at, func(string) []string { return nil })
	}
	return checkOrder(p, at, j.stays(maps.Clone(at)))
}

// replacedSince is the first version of the rules under which a plan of the whole job may keep conditions that read what was
// split.
const replacedSince = 4

// checkConditions looks for conditions that cannot be decided: over anything but direct predecessors, or over a value of
// finished work that nobody had asked for when it finished. What stays as it is reads what it read before.
func (j *Job) checkConditions(p *events.Plan, known func(id string) *node) *events.Fault {
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		c, err := ParseCondition(s.When)
		if err != nil {
			return fault(events.CodeInvalid, "when of "+s.ID+": "+err.Error())
		}
		n := known(s.ID)
		if n != nil && j.Rules.Version >= replacedSince && (n.Status == events.Finished || j.unchanged(n, s)) {
			continue
		}
		for _, o := range c.operands() {
			if f := j.checkOperand(s, o, known(o.subjob)); f != nil {
				return f
			}
		}
	}
	return nil
}

// checkOperand judges one value that a condition reads; d is the step of the job that it names, nil for none.
func (j *Job) checkOperand(s *events.SubJob, o operand, d *node) *events.Fault {
	read := []*node{d}
	direct := slices.Contains(s.Dependencies, o.subjob)
	if !direct && d != nil && j.Rules.Version >= replacedSince {
		read = slices.DeleteFunc(j.replacements(d), func(n *node) bool { return n.Status == events.Legacy })
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

// stays gives the predecessors of finished work that would remain with it under a plan that depends on it without listing
// it; nil when there is no such work.
func (j *Job) stays(listed map[string]int) func(id string) []string {
	return func(id string) []string {
		n := j.known(id)
		if n == nil || n.Status != events.Finished {
			return nil
		}
		deps := []string{}
		for _, at := range n.Deps {
			d := j.nodes[at]
			if _, ok := listed[d.ID]; ok || d.Status == events.Finished {
				deps = append(deps, d.ID)
			}
		}
		return deps
	}
}
