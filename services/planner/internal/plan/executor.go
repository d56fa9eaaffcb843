package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Executor is the run of a step whose worker changes the plan that it works by.
type Executor struct {
	// SubJob is the step, Run its run.
	SubJob string
	Run    int
	// Key identifies a call: it is the same each time that the call is repeated.
	Key string
}

// Executor returns the run that the operation comes from; nil if it comes from outside the job.
func (op *Operation) Executor() *Executor { return op.executor }

// Entitled returns why the executor of an operation may not use the plan: its run is over, and another one may be at work. It is
// nil for an operation from outside the job.
func (c *Chart) Entitled(op Operation) error {
	x := op.executor
	if x == nil {
		return nil
	}
	n := c.at(x)
	if n == nil || n.Run != x.Run || n.Closing != 0 || !live(n) {
		return &events.Fault{
			Code: events.CodeConflict, Field: "step", Message: fmt.Sprintf("run %d of %.80q is over: it changes the plan no more", x.Run, x.SubJob),
			Hint: "end the work: its result is not used",
		}
	}
	return nil
}

// at returns the step of an executor; nil if the graph does not have it.
func (c *Chart) at(x *Executor) *graph.SubJobState {
	list := c.steps()
	i := slices.IndexFunc(list, func(n *graph.SubJobState) bool { return n.ID == x.SubJob })
	if i < 0 {
		return nil
	}
	return list[i]
}

// BoardFor returns the graph in the view of an operation's sender. For an executor it adds a line that says which step is its own:
// that step is in progress, even if the log does not say so yet.
func (c *Chart) BoardFor(op Operation) (b Board, place string) {
	b = c.Board()
	for i := range b.Lines {
		if line := &b.Lines[i]; op.executor != nil && line.ID == op.executor.SubJob {
			place = fmt.Sprintf("\nYou work at step %d.\n", i)
			if line.Mark == NotStarted && c.Entitled(op) == nil {
				line.Mark = InProgress
			}
		}
	}
	return b, place
}

// begun reports whether a step was handed out, or is over: a worker may be at work before the log says so. Executors may change
// only steps that have not begun.
func begun(n *graph.SubJobState) bool {
	return n.Status != events.Created && (n.Status != events.Ready || n.Open)
}

// MarkFrom is Mark for an executor. It records notes about the executor's own step, whose status only its end changes, and marks
// steps that have not begun; steps at work belong to their own executors.
func (c *Chart) MarkFrom(op Operation) ([]Control, error) {
	n, err := c.step(op)
	if err != nil {
		return nil, err
	}
	mark, err := op.mark()
	if err != nil {
		return nil, err
	}
	own := n.ID == op.executor.SubJob
	switch {
	case own && (mark == Blocked || mark == NotStarted):
		return nil, conflict(n, "it is your own step", "end it without success, and say why")
	case own:
		op.StepStatus = ""
	case begun(n) && mark != "" && mark != MarkOf(n.Status):
		return nil, conflict(n, "what has begun is marked by the expert that does it", "change steps that have not begun")
	}
	return c.Mark(op)
}

// Refine returns the fact by which an executor changes what has not begun. The steps of the operation are the rest of the plan:
// begun steps stay, listed or not, and a listed text that exists keeps its step. A new step goes between those before and after it.
func (c *Chart) Refine(op Operation, cards []events.Card, o Options) ([]Control, error) {
	if len(op.Plan) > 0 {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "plan", Message: "an executor gives steps", Hint: "list the steps that are left, a sentence each"}
	}
	if err := steps(op); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	o.MaxSteps, o.Retries, o.Known, o.Done = c.Job.Rules.MaxSteps, c.retries, nil, nil
	for _, n := range c.Job.View().SubJobs {
		o.Known = append(o.Known, n.ID)
	}
	p, faults := c.remaining(op.Steps, cards, o)
	if len(faults) > 0 {
		return nil, faults
	}
	if title := strings.TrimSpace(op.Title); title != "" {
		p.Title = title
	}
	return c.unlessSame(p)
}

// open returns why no executor may change the graph now; nil if one may.
func (c *Chart) open() error {
	for _, n := range c.steps() {
		if MarkOf(n.Status) == Blocked {
			return conflict(n, "it would run again with the changed plan", "finish your own step")
		}
	}
	return nil
}

// unlessSame returns the edit of a graph; none if nothing would change.
func (c *Chart) unlessSame(p *events.Plan) ([]Control, error) {
	before, errBefore := json.Marshal(c.Plan())
	after, err := json.Marshal(p)
	if err != nil || errBefore == nil && string(before) == string(after) {
		return nil, err
	}
	return []Control{c.edited(p)}, nil
}

// remaining makes the plan of an executor's list.
func (c *Chart) remaining(texts []string, cards []events.Card, o Options) (*events.Plan, events.Faults) {
	old := c.Plan()
	p := &events.Plan{Title: old.Title}
	nodes, planned, in := map[string]*graph.SubJobState{}, map[string]events.SubJob{}, map[string]bool{}
	for i, n := range c.steps() { // Plan lists them in the same order.
		nodes[n.ID], planned[n.ID] = n, old.SubJobs[i]
		if begun(n) {
			p.SubJobs, in[n.ID] = append(p.SubJobs, old.SubJobs[i]), true
		}
	}
	list := lines(texts, c.Board().Lines)
	for _, line := range list {
		in[line.ID] = true
	}
	taken, number := set(o.Known), 0
	var added []string
	for i, line := range list {
		n := nodes[line.ID]
		if n != nil && begun(n) {
			continue
		}
		s, kept := planned[line.ID]
		if !kept {
			for number++; taken[fmt.Sprintf("step_%d", number)]; {
				number++
			}
			var faults events.Faults
			if s, faults = fresh(line.Text, fmt.Sprintf("step_%d", number), i, cards, o); len(faults) > 0 {
				return nil, faults
			}
		}
		before := added // New steps come before the next listed one.
		if gone := func(id string) bool { return !in[id] }; !kept || slices.ContainsFunc(s.Dependencies, gone) {
			s.Dependencies, before = slices.DeleteFunc(slices.Clone(s.Dependencies), gone), earlier(p.SubJobs)
		}
		s.Dependencies = union(s.Dependencies, before, s.ID)
		if !kept {
			added = append(added, s.ID)
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	return p, nil
}

// endedEarly is a value that no result has. A condition that reads it skips a step because the goal was reached earlier.
const endedEarly = "ended_early"

// EndEarly returns the fact after which nothing begins any more: the steps that have not begun are skipped, with the reason, once
// the step of the executor is done, or without an executor, once the steps at work are done.
func (c *Chart) EndEarly(op Operation) ([]Control, error) {
	var reason string
	if op.StepNotes != nil {
		reason = oneLine(*op.StepNotes)
	}
	if reason == "" {
		return nil, missing(op, "step_notes", "say why the goal is reached")
	}
	if c.Job.Status.Terminal() {
		return nil, &events.Fault{Code: events.CodeConflict, Field: "plan_id", Message: fmt.Sprintf("job %s is %s", c.Job.ID, c.Job.Status)}
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	by := c.last(op.executor)
	if by == "" {
		return nil, &events.Fault{Code: events.CodeConflict, Field: "plan_id", Message: "no step of job " + c.Job.ID + " is at work", Hint: "jobgraph stop " + c.Job.ID + " ends it"}
	}
	p := c.Plan()
	for i, n := range c.steps() { // Plan lists them in the same order.
		s := &p.SubJobs[i]
		if _, ended := EndedEarly(s.When); begun(n) || ended {
			continue
		}
		s.When = fmt.Sprintf(`%s.%s == "%s"`, by, endedEarly, clip.Marked(quotable.Replace(reason), maxReason))
		s.Dependencies = union(s.Dependencies, []string{by}, s.ID)
	}
	return c.unlessSame(p)
}

// maxReason keeps a condition with a reason within its limit, in bytes.
const maxReason = 500

// quotable replaces the characters that a condition, which knows no escapes, cannot have between quotes.
var quotable = strings.NewReplacer(`"`, "'", `\`, "/")

// last returns the step after which nothing begins any more: the executor's, else one at work; "" if there is none.
func (c *Chart) last(x *Executor) string {
	if x != nil {
		return x.SubJob
	}
	for _, n := range c.steps() {
		if live(n) && begun(n) {
			return n.ID
		}
	}
	return ""
}

// EndedEarly returns why a step with this condition is skipped, if the plan was ended before it began.
func EndedEarly(when string) (reason string, ended bool) {
	_, rest, found := strings.Cut(when, "."+endedEarly+` == "`)
	if !found {
		return "", false
	}
	return strings.TrimSuffix(rest, `"`), true
}
