package joblog

import (
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// JobBrief is what the briefs of one job share: the request, and the steps until the plan changes. The zero value is ready; it has
// one owner.
type JobBrief struct {
	// request is the request as shortened for a work message; cut is true if something is left out.
	request    brief.Request
	asked, cut bool
	// version is the version of the graph that steps belong to; steps are in the order of the work, without statuses. long is true
	// if they do not fit into a work message.
	version int
	title   string
	steps   []brief.Step
	long    bool
	// edition counts the lists of steps that needed a blob, and listed is the length of the last one.
	edition, listed int
	// stored is the blob of an edition, nil for none.
	stored        *events.Ref
	storedEdition int
}

// Briefer makes briefs one after another and reuses its memory. The zero value is ready; it has one owner.
type Briefer struct {
	// Whole leaves nothing out: for people, not for work messages.
	Whole bool

	made     brief.Brief
	plan     brief.Plan
	place    brief.Place
	marks    brief.Marks
	standing graph.Standing
}

// Goals returns the goal of a SubJob as planned.
type Goals func(at graph.Spec) (string, error)

// Make returns the brief of a run that is about to be issued. All other fields that a brief repeats must be set in its work. The
// brief is valid until the next call. Errors: those of goals, which is called once for each step without a title and for each
// version of the graph.
func (m *Briefer) Make(c *JobBrief, job *graph.Job, r *events.Request, w *events.Work, goals Goals) (*brief.Brief, error) {
	if err := c.update(job, goals); err != nil {
		return nil, err
	}
	c.ask(r)
	b := &m.made
	*b = brief.Brief{
		V: brief.Version, Job: w.Job, Request: c.request, Lessons: recent(w.Lessons), Locale: w.Locale, Timezone: job.Rules.Timezone, Deadline: w.Deadline, Budget: w.Budget,
		Session: w.Session, Thread: w.Thread, User: w.User, Predecessors: b.Predecessors[:0], Successors: b.Successors[:0],
	}
	if !r.Tools.IsZero() {
		b.Tools = &r.Tools
	}
	if m.Whole {
		b.Request = request(r)
	}
	if len(c.steps) == 0 {
		return b, nil
	}
	m.plan = brief.Plan{Version: c.version, Title: c.title, Steps: m.plan.Steps[:0]}
	m.count(job)
	b.Plan, b.Marks = &m.plan, &m.marks
	m.stand(c, job, w.SubJob)
	if !c.long || m.Whole {
		for i, n := range job.Steps {
			m.plan.Steps = append(m.plan.Steps, m.step(c, i, n))
		}
	}
	return b, nil
}

func (m *Briefer) count(job *graph.Job) {
	m.marks = brief.Marks{}
	for _, s := range [...]events.Status{events.Created, events.Ready, events.Running, events.Waiting, events.Finished, events.Failed, events.Stopped} {
		m.marks.Count(brief.StatusOf(s), job.Number(s))
	}
}

// stand fills in the place of a SubJob, if it is a step of the plan. The step counts as in progress, since its work is being
// issued.
func (m *Briefer) stand(c *JobBrief, job *graph.Job, subjob string) {
	job.Stand(subjob, brief.MaxNeighbours, &m.standing)
	s := &m.standing
	if m.place = (brief.Place{N: s.N, Of: s.Of}); s.N == 0 {
		return
	}
	m.marks.Count(brief.StatusOf(s.Status), -1)
	m.marks.Count(brief.InProgress, 1)
	m.place.Step = m.step(c, s.N-1, s.SubJobState)
	b := &m.made
	for _, p := range s.Before {
		b.Predecessors = append(b.Predecessors, m.step(c, p.N-1, p.SubJobState))
	}
	for _, p := range s.After {
		b.Successors = append(b.Successors, m.step(c, p.N-1, p.SubJobState))
	}
	b.Place, b.MorePredecessors, b.MoreSuccessors = &m.place, s.MoreBefore, s.MoreAfter
}

// step returns a step with its status.
func (m *Briefer) step(c *JobBrief, i int, n *graph.SubJobState) brief.Step {
	step := c.steps[i]
	if step.Status = brief.StatusOf(n.Status); i == m.place.N-1 {
		step.Status = brief.InProgress
	}
	return step
}

// ask shortens the request, once per job.
func (c *JobBrief) ask(r *events.Request) {
	if c.asked {
		return
	}
	c.asked = true
	whole := request(r)
	c.request = whole
	if len(whole.Goal)+len(whole.Context) > brief.MaxRequest {
		c.request.Goal = brief.Clip(whole.Goal, brief.MaxRequest-min(len(whole.Context), brief.MaxRequest/2))
		c.request.Context = brief.Clip(whole.Context, brief.MaxRequest-len(c.request.Goal))
		c.cut = true
	}
	for _, names := range []*[]string{&c.request.Inputs, &c.request.Attachments} {
		kept := slices.Clone((*names)[:min(len(*names), brief.MaxNames)])
		for i, name := range kept {
			kept[i] = brief.Clip(name, brief.MaxName)
		}
		c.cut = c.cut || !slices.Equal(kept, *names)
		*names = kept
	}
}

// request returns what a brief says about a request, without shortening it.
func request(r *events.Request) brief.Request {
	whole := brief.Request{Goal: r.Goal, Context: r.Context, Inputs: slices.Sorted(maps.Keys(r.Inputs))}
	for i := range r.Attachments {
		whole.Attachments = append(whole.Attachments, r.Attachments[i].Name)
	}
	return whole
}

// recent returns the newest lessons, shortened.
func recent(lessons []string) []string {
	var list []string
	for _, lesson := range lessons[max(0, len(lessons)-brief.MaxLessons):] {
		list = append(list, brief.Clip(lesson, brief.MaxLesson))
	}
	return list
}

// update lists the steps again if the graph has changed.
func (c *JobBrief) update(job *graph.Job, goals Goals) error {
	if c.version == job.PlanVersion {
		return nil
	}
	var steps []brief.Step
	for _, n := range job.Steps {
		title := n.Title
		if title == "" {
			goal, err := goals(n.Spec)
			if err != nil {
				return err
			}
			title = goal
		}
		if title == n.ID {
			title = "" // The title only repeats it.
		}
		steps = append(steps, brief.Step{ID: n.ID, Title: brief.Line(title, brief.MaxTitle)})
	}
	if len(steps)-c.listed > c.listed/8 || !split(c.steps, steps) {
		c.edition, c.listed = c.edition+1, len(steps)
	}
	c.version, c.steps, c.long = job.PlanVersion, steps, brief.Weigh(steps) > brief.MaxPlan
	c.title = brief.Line(job.Title, brief.MaxTitle)
	return nil
}

// split reports whether a list of steps differs from an earlier one only because steps were split. Splits come one by one; with a
// new list for each of them, all lists together would grow with the square of the plan.
func split(before, now []brief.Step) bool {
	known := make(map[string]string, len(before))
	for i := range before {
		known[before[i].ID] = before[i].Title
	}
	for i := range now {
		title, old := known[now[i].ID]
		parts := strings.Split(now[i].ID, "~")
		switch {
		case old && title == now[i].Title:
			delete(known, now[i].ID)
		case !old && len(parts) > 2: // The id of the split step, its run, and the id in the plan of the split.
			delete(known, strings.Join(parts[:len(parts)-2], "~"))
		default:
			return false
		}
	}
	return len(known) == 0
}

// Refer returns the reference to what is left out of the last brief, nil if nothing is. put stores it, once for the request and for
// each list of steps that has changed. It is a blob and not a reference into the log, so that workers in any language can read it
// without knowing plans, edits and splits; it costs about 1.5 µs per step of the plan, once. Errors: those of put.
func (c *JobBrief) Refer(r *events.Request, put func(data []byte) (events.Ref, error)) (*events.Ref, error) {
	if !c.cut && !c.long {
		return nil, nil
	}
	edition := 0
	if c.long {
		edition = c.edition
	}
	if c.stored != nil && c.storedEdition == edition {
		return c.stored, nil
	}
	rest := brief.Rest{}
	if c.cut {
		whole := request(r)
		rest.Request = &whole
	}
	if c.long {
		rest.Plan = &brief.Plan{Version: c.version, Title: c.title, Steps: c.steps}
	}
	data, err := rest.Marshal()
	if err != nil {
		return nil, err
	}
	ref, err := put(data)
	if err != nil {
		return nil, err
	}
	c.stored, c.storedEdition = &ref, edition
	return c.stored, nil
}
