package graph

import (
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// planning requests plans and installs them as the graph of the job.
type planning struct {
	job       *State
	now       *events.Event
	dag       *dag
	runs      *runs
	waits     *waits
	outbox    *outbox
	outcomes  *outcomes
	lifecycle *lifecycle
}

// install makes a plan the graph of the job: finished work that the plan names again is kept, unchanged work continues, everything
// else of the previous graph becomes legacy.
func (pl *planning) install(p *events.Plan, why string) {
	named := make(map[string]bool, len(p.SubJobs))
	var added, removed []string
	var fresh []*node
	for i := range p.SubJobs {
		named[p.SubJobs[i].ID] = true
	}
	pl.dag.nameFinished(p, named)
	pl.dag.reserve(len(p.SubJobs))
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		n := pl.dag.find(s.ID)
		if n != nil && pl.keeps(n, s) {
			continue
		}
		if n == nil {
			n = pl.dag.add(SubJobState{ID: s.ID, Status: events.Created})
		} else {
			removed = append(removed, s.ID)
			pl.runs.reset(n, why)
		}
		pl.describe(n, s)
		n.LifeCycle, n.ReplacedBy = value(s.LifeCycle, pl.job.Rules.LifeCycle), nil
		fresh = append(fresh, n)
		added = append(added, s.ID)
	}
	for _, n := range pl.dag.nodes {
		if n.step() && !named[n.ID] && n.Status != events.Legacy {
			removed = append(removed, n.ID)
			pl.runs.retire(n, why)
		}
	}
	pl.dag.connect(p)
	pl.job.Title = cut(p.Title, 200)
	pl.dag.relink()
	pl.arrive(fresh, p, "")
	for _, n := range pl.dag.nodes {
		if n.step() && n.live() && n.unfinished == 0 {
			pl.runs.look(n)
		}
	}
	pl.replaced("", added, removed)
}

// keeps reports whether a node may stay as it is under a new plan.
func (pl *planning) keeps(n *node, s *events.SubJob) bool {
	if n.Status == events.Finished {
		return true
	}
	if !pl.dag.unchanged(n, s) {
		return false
	}
	pl.limit(n, s)
	return true
}

// limit adopts those changes of a plan that do not affect a run in progress.
func (pl *planning) limit(n *node, s *events.SubJob) {
	n.Title = cut(s.Title, 120)
	n.RetryLimit = value(s.Retries, pl.job.Rules.Retries)
	n.Timeout = 0
	if s.Timeout != nil {
		n.Timeout = *s.Timeout
	}
}

// describe writes what a plan says about a SubJob into its node.
func (pl *planning) describe(n *node, s *events.SubJob) {
	n.Expert, n.Pool, n.Pure = s.Expert, s.Pool, s.Pure
	if !events.ValidID(n.Pool) {
		n.Pool = events.DefaultPool
	}
	if !events.ValidID(n.Expert) {
		n.Expert = "" // Only finished steps without an expert reach this point.
	}
	pl.limit(n, s)
	if s.Handoff {
		n.Session = ChildSession(pl.job.ID, n.ID)
	}
	n.Spec = Spec{Seq: pl.now.Seq, ID: s.ID}
	n.Hash = specHash(s)
	n.When, n.Selects, n.when = s.When, nil, condition(s.When)
}

// arrive finishes new nodes that came with a result and looks at the others.
func (pl *planning) arrive(fresh []*node, p *events.Plan, scope string) {
	done := map[string]*events.SubJob{}
	for i := range p.SubJobs {
		if s := &p.SubJobs[i]; s.Done() {
			done[scope+s.ID] = s
		}
	}
	for _, n := range fresh {
		if s := done[n.ID]; s != nil {
			n.Given, n.ResultSeq = true, pl.now.Seq
			pl.runs.selectValues(n, s.ExecutionRes, nil)
			pl.runs.complete(n, "completed")
		}
	}
	for _, n := range fresh {
		pl.runs.look(n)
	}
}

// replaced starts a new version of the graph and puts the fact about it into the outbox, unless it is the first.
func (pl *planning) replaced(subjob string, added, removed []string) {
	pl.job.PlanVersion++
	if pl.job.PlanVersion == 1 {
		return
	}
	most := func(ids []string) []string { return ids[:min(len(ids), maxListed)] }
	pl.outbox.add(events.KindGraphReplaced, strconv.Itoa(pl.job.PlanVersion), events.GraphReplaced{
		SubJob:      subjob,
		PlanVersion: pl.job.PlanVersion, Added: most(added), Removed: most(removed), Cause: pl.now.Seq,
	})
}

// splice replaces one node by a graph: every head gets all its predecessors, every tail feeds all its successors.
func (pl *planning) splice(x *node, p *events.Plan) {
	scope := x.ID + "~" + strconv.Itoa(x.Run) + "~"
	fresh := make([]*node, len(p.SubJobs))
	pl.dag.reserve(len(p.SubJobs))
	var added []string
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		n := pl.dag.add(SubJobState{ID: scope + s.ID, Status: events.Created})
		pl.describe(n, s)
		n.LifeCycle = x.LifeCycle
		fresh[i] = n
		added = append(added, n.ID)
	}
	for i, n := range fresh {
		for _, dep := range p.SubJobs[i].Dependencies {
			if at := pl.dag.ids[scope+dep]; !slices.Contains(n.Deps, at) {
				n.Deps = append(n.Deps, at)
			}
		}
		if len(n.Deps) == 0 {
			n.Deps = slices.Clone(x.Deps)
		}
	}
	pl.dag.join(x, fresh)
	pl.runs.keepVersion(x, "split")
	pl.runs.move(x, events.Legacy, "replaced")
	for _, n := range fresh {
		pl.dag.recount(n)
		pl.dag.want(n)
	}
	pl.arrive(fresh, p, scope)
	pl.replaced(x.ID, added, []string{x.ID})
}

// resume issues a planning run again that the end of the job cut off.
func (pl *planning) resume() {
	if p := pl.dag.plan(); p.Status == events.Failed || p.Status == events.Stopped {
		mode := p.Mode
		pl.runs.keepVersion(p, "recover")
		p.forget()
		p.Mode = mode
		pl.runs.move(p, events.Created, "requeued")
		pl.runs.look(p)
	}
}

// start issues planning work for the whole job: for the first plan, or for a new plan of the remainder.
func (pl *planning) start(mode events.WorkKind) {
	p := pl.dag.plan()
	if p.Status != events.Created {
		p.forget()
		pl.runs.move(p, events.Created, "requeued")
	} else {
		pl.outbox.add(events.KindJobPlanning, strconv.Itoa(pl.job.Turn), events.JobMoved{Status: events.Planning, Turn: pl.job.Turn, Cause: pl.now.Seq})
	}
	p.Mode = mode
	pl.job.PlanRounds++
	pl.runs.look(p)
}

// planned applies the planner's answer. It belongs to the planning run in its subject; an answer of any other run is stale.
func (pl *planning) planned(e *events.Event) Effect {
	n, effect := pl.runs.find(e)
	if n == nil {
		return pl.outcomes.late(e, planningCost(e.Data), effect)
	}
	if !planningMode(n.Mode) {
		return ignored("run %d of %s is no planning run", e.Run, n.ID)
	}
	pl.runs.end(n)
	pl.outcomes.spend(planningCost(e.Data))
	switch d := e.Data.(type) {
	case *events.GraphCreated:
		pl.graphCreated(n, e, d)
	case *events.PlanRejected:
		pl.outcomes.fail(n, rejection(d.Faults))
	case *events.JobAnswered:
		pl.answered(n, e, d)
	default:
		pl.outcomes.retry(n, e, e.Fault, 0)
	}
	pl.outcomes.checkBudget()
	return applied
}

func (pl *planning) answered(n *node, e *events.Event, d *events.JobAnswered) {
	if !n.planning() || n.Mode != events.WorkPlan {
		pl.outcomes.retry(n, e, fault(events.CodeExecution, "only the planning of a job can answer it"), 0)
		return
	}
	pl.job.AnswerSeq = e.Seq
	if d.Outcome == events.OutcomeGuidance {
		pl.job.Outcome = d.Outcome
	}
	pl.runs.complete(n, "completed")
	pl.lifecycle.end(events.Finished, nil)
}

func (pl *planning) graphCreated(n *node, e *events.Event, d *events.GraphCreated) {
	if f := checkPlan(pl.dag, &pl.job.Rules, d.Plan, n.planning()); f != nil {
		pl.outcomes.retry(n, e, f, 0)
		return
	}
	if n.planning() {
		pl.job.FinalPool, pl.job.FinalPure = d.FinalPool, d.FinalPure
		if pl.job.Rules.Version >= wordsSince {
			pl.job.Finalize = d.Finalize
		}
		pl.advise(d)
		pl.runs.complete(n, "completed")
		pl.install(d.Plan, "replan")
		return
	}
	pl.splice(n, d.Plan)
}

// advise adopts the notices of a plan and, unless the request has one, the failure policy of its profile.
func (pl *planning) advise(d *events.GraphCreated) {
	pl.job.Notices = nil
	for i := range d.Notices[:min(len(d.Notices), MaxNotices)] {
		f := d.Notices[i]
		f.Message, f.Cause, f.Hint, f.RawRef = cut(f.Message, 500), cut(f.Cause, 500), cut(f.Hint, 500), nil
		pl.job.Notices = append(pl.job.Notices, f)
	}
	if pl.job.Rules.Version < policySince {
		return
	}
	switch d.FailurePolicy {
	case events.FailFast, events.Continue, events.Replan:
		pl.job.Rules.FailurePolicy = d.FailurePolicy
	}
}

// policySince is the first version of the rules in which the failure policy of a profile counts.
const policySince = 5

func value(given *int, otherwise int) int {
	if given != nil {
		return max(0, *given)
	}
	return otherwise
}

// maxListed limits the ids listed in graph.replaced; the state has them all.
const maxListed = 1000

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
