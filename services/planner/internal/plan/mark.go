package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Control is a fact that follows from a plan operation on a job. The scheduler acts on it.
type Control struct {
	// Kind is the kind of the fact.
	Kind events.Kind
	// SubJob and Run are set for a note, which is a fact about one run; they are empty for a fact about the job.
	SubJob string
	Run    int
	// Data is the payload.
	Data any
}

// by is the author of facts of operations that name no user.
const by = "plan"

// Attribute sets the user who asks for a fact, unless that is "".
func (c *Control) Attribute(user string) {
	if user == "" {
		return
	}
	switch d := c.Data.(type) {
	case *events.PlanEdited:
		d.By = user
	case *events.FailRequested:
		d.By = user
	case *events.RetryRequested:
		d.By = user
	case *events.RerunRequested:
		d.By = user
	}
}

// Mark returns the facts that mark a step of the job; none if the step has that mark already. If there are a mark and a
// note, the mark comes first. Errors are *events.Fault.
func (c *Chart) Mark(op Operation) ([]Control, error) {
	n, err := c.step(op)
	if err != nil {
		return nil, err
	}
	mark, err := op.mark()
	if err != nil {
		return nil, err
	}
	var notes string
	if op.StepNotes != nil {
		notes = oneLine(*op.StepNotes)
	}
	var facts []Control
	if mark != "" && mark != MarkOf(n.Status) {
		fact, err := c.move(n, mark, notes)
		if err != nil {
			return nil, err
		}
		facts = append(facts, fact)
		if mark == Completed || mark == Blocked {
			return facts, nil // The fact already contains the note, as the result or the reason.
		}
	}
	if notes == "" {
		return facts, nil
	}
	if n.Run == 0 {
		return nil, &events.Fault{
			Code: events.CodeConflict, Field: "step_notes", Message: n.ID + " has not begun: there is nothing to note about it",
			Hint: "change what it has to do with update",
		}
	}
	return append(facts, Control{Kind: events.KindSubJobProgressed, SubJob: n.ID, Run: n.Run, Data: &events.SubJobProgressed{Message: notes}}), nil
}

// step finds the step of an operation by its SubJob or by its index.
func (c *Chart) step(op Operation) (*graph.SubJobState, error) {
	list := c.steps()
	if op.StepID != "" {
		at := slices.IndexFunc(list, func(n *graph.SubJobState) bool { return n.ID == op.StepID })
		if at < 0 {
			return nil, &events.Fault{
				Code: events.CodeNotFound, Field: "step_id", Message: fmt.Sprintf("there is no step %.80q", op.StepID), Hint: "get shows the steps",
			}
		}
		return list[at], nil
	}
	if err := op.inside(len(list)); err != nil {
		return nil, err
	}
	return list[*op.StepIndex], nil
}

// inside checks that the operation's index is below steps.
func (op *Operation) inside(steps int) error {
	switch {
	case op.StepIndex == nil:
		return missing(*op, "step_index", "steps count from 0")
	case *op.StepIndex < 0 || *op.StepIndex >= steps:
		f := &events.Fault{Code: events.CodeInvalid, Field: "step_index", Message: fmt.Sprintf("there is no step %d", *op.StepIndex), Hint: "the plan has no steps"}
		if steps > 0 {
			f.Hint = fmt.Sprintf("steps go from 0 to %d", steps-1)
		}
		return f
	}
	return nil
}

// mark reads the operation's status, "" if it has none.
func (op *Operation) mark() (Mark, error) {
	if op.StepStatus != "" && !slices.Contains(Marks(), Mark(op.StepStatus)) {
		return "", &events.Fault{
			Code: events.CodeInvalid, Field: "step_status", Message: fmt.Sprintf("unknown status %.40q", op.StepStatus), Hint: "use not_started, in_progress, completed or blocked",
		}
	}
	return Mark(op.StepStatus), nil
}

// move returns the fact that gives a step another mark. It closes the current run, whose worker can report nothing more.
func (c *Chart) move(n *graph.SubJobState, to Mark, notes string) (Control, error) {
	switch was := MarkOf(n.Status); {
	case to == Completed:
		return c.complete(n, notes)
	case to == Blocked && was == Completed:
		return Control{}, conflict(n, "what is completed is not blocked", "mark it not_started to have it done again")
	case to == Blocked:
		return Control{Kind: events.KindFailRequested, Data: &events.FailRequested{SubJob: n.ID, Run: n.Run, Only: true, Reason: firstOf(notes, "marked blocked"), By: by}}, nil
	case to == InProgress && was == NotStarted:
		return Control{}, conflict(n, "a step begins by itself, as soon as those before it are done", "jobgraph why "+c.Job.ID+"/"+n.ID)
	case to == InProgress && was == Blocked:
		return Control{Kind: events.KindRetryRequested, Data: &events.RetryRequested{SubJob: n.ID, Run: n.Run, By: by}}, nil
	}
	return Control{Kind: events.KindRerunRequested, Data: &events.RerunRequested{SubJob: n.ID, Run: n.Run, By: by}}, nil
}

func conflict(n *graph.SubJobState, why, hint string) *events.Fault {
	return &events.Fault{Code: events.CodeConflict, Field: "step_status", Message: fmt.Sprintf("%s is %s: %s", n.ID, n.Status, why), Hint: hint}
}

// complete edits the graph so that the step has its result. Steps that were blocked only by it can start; other blocked
// steps stay blocked.
func (c *Chart) complete(n *graph.SubJobState, notes string) (Control, error) {
	if c.Job.Status.Terminal() {
		return Control{}, conflict(n, "the job is over", "jobgraph recover "+c.Job.ID+", then mark it")
	}
	behind := c.behind(n)
	for _, other := range c.steps() {
		if MarkOf(other.Status) == Blocked && !behind[other.ID] {
			return Control{}, conflict(n, other.ID+" is blocked, and would run again with the changed plan", "mark "+other.ID+" first, or retry it")
		}
	}
	result, err := json.Marshal(firstOf(notes, doneByHand))
	if err != nil {
		return Control{}, err
	}
	p := c.Plan()
	for i := range p.SubJobs {
		if s := &p.SubJobs[i]; s.ID == n.ID {
			s.ExecutionRes, s.When = result, ""
		}
	}
	return c.edited(p), nil
}

// behind returns a step and all steps that depend on it, directly or not.
func (c *Chart) behind(n *graph.SubJobState) map[string]bool {
	found := map[string]bool{n.ID: true}
	state := c.Job.View()
	for _, s := range c.steps() { // Each step comes after its dependencies.
		for _, at := range s.Deps {
			if found[state.SubJobs[at].ID] {
				found[s.ID] = true
			}
		}
	}
	return found
}

func (c *Chart) edited(p *events.Plan) Control {
	return Control{Kind: events.KindPlanEdited, Data: &events.PlanEdited{PlanVersion: c.Job.PlanVersion, Plan: schedule.Routed(p), By: by}}
}
