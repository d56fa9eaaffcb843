package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Revise returns the facts that change the job's title or its graph, which comes as a graph or as a list of steps. Each
// step of a list depends on those before it; a step whose text existed before keeps its settings. Finished work is kept,
// work with unchanged text and predecessors continues, the rest of the old graph is dropped. Errors are events.Faults or
// *events.Fault.
func (c *Chart) Revise(op Operation, cards []events.Card, o Options) ([]Control, error) {
	if c.Job.PlanVersion == 0 {
		return nil, &events.Fault{Code: events.CodeConflict, Field: "plan_id", Message: "job " + c.Job.ID + " has no plan yet", Hint: "jobgraph why " + c.Job.ID}
	}
	o.MaxSteps, o.Retries = c.Job.Rules.MaxSteps, c.retries
	for _, n := range c.Job.View().SubJobs {
		o.Known = append(o.Known, n.ID)
		if n.Status == events.Finished {
			o.Done = append(o.Done, n.ID)
		}
	}
	p := c.Plan()
	var faults events.Faults
	switch {
	case len(op.Plan) > 0:
		if op.hasSteps || len(op.Steps) > 0 {
			return nil, &events.Fault{Code: events.CodeConflict, Field: "steps", Message: "given together with plan", Hint: "keep one of the two"}
		}
		r := Check(op.Plan, cards, o)
		if p, faults = r.Plan, r.Faults; p == nil && len(faults) == 0 {
			faults = events.Faults{{Code: events.CodeMissing, Field: "plan", Message: "the plan has no steps", Hint: emptyHint}}
		}
	case op.hasSteps || len(op.Steps) > 0:
		if err := steps(op); err != nil {
			return nil, err
		}
		p, faults = c.listed(op.Steps, cards, o)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if title := strings.TrimSpace(op.Title); title != "" {
		p.Title = title
	}
	return []Control{c.edited(p)}, nil
}

// listed makes a plan from texts; each step depends on those before it.
func (c *Chart) listed(texts []string, cards []events.Card, o Options) (*events.Plan, events.Faults) {
	old := c.Plan()
	p := &events.Plan{Title: old.Title}
	byID := map[string]*events.SubJob{}
	for i := range old.SubJobs {
		byID[old.SubJobs[i].ID] = &old.SubJobs[i]
	}
	nodes := map[string]*graph.SubJobState{}
	for _, n := range c.steps() {
		nodes[n.ID] = n
	}
	taken := set(o.Known)
	number := 0
	for i, line := range lines(texts, c.Board().Lines) {
		var s events.SubJob
		if kept := byID[line.ID]; kept != nil {
			s = *kept
		} else {
			for number++; taken[fmt.Sprintf("step_%d", number)]; {
				number++
			}
			var faults events.Faults
			if s, faults = fresh(line.Text, fmt.Sprintf("step_%d", number), i, cards, o); len(faults) > 0 {
				return nil, faults
			}
		}
		if n := len(p.SubJobs); n == 0 || !slices.Equal(s.Dependencies, []string{p.SubJobs[n-1].ID}) {
			s.Dependencies = earlier(p.SubJobs) // An unchanged list of an older release keeps its own dependencies.
			if was := nodes[s.ID]; was != nil && live(was) {
				s.When = absolute(was, s.When)
			}
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	return p, nil
}

// fresh returns a step that was not in the plan before. Its tag chooses the expert.
func fresh(text, id string, place int, cards []events.Card, o Options) (events.SubJob, events.Faults) {
	s := events.SubJob{ID: id}
	s.Tag, s.Goal = splitTag(strings.TrimSpace(text))
	raw, err := json.Marshal(events.Plan{SubJobs: []events.SubJob{s}})
	if err != nil {
		return s, events.Faults{{Code: events.CodeInternal, Message: "write a step", Cause: err.Error()}}
	}
	r := Check(raw, cards, o)
	if r.Plan == nil {
		for i := range r.Faults {
			r.Faults[i].Field = strings.Replace(r.Faults[i].Field, "subjobs[0]", fmt.Sprintf("steps[%d]", place), 1)
		}
		return s, r.Faults
	}
	return r.Plan.SubJobs[0], nil
}

// sketch reads the steps of a graph in any dialect as lines, without resolving experts.
func sketch(raw json.RawMessage) (title string, list []Line, faults events.Faults) {
	d := &draft{}
	if d.decode(raw) && len(d.steps) == 0 && len(d.faults.list) == 0 {
		d.faults.add(events.CodeMissing, "plan", "the plan has no steps", emptyHint)
	}
	for i := range d.steps {
		list = append(list, lineOf(d.steps[i].SubJob))
	}
	return d.plan.Title, list, d.faults.all()
}

// Request returns the plan of a board in the form of a job request: the graph that it came from, else its steps as a
// sequence. A completed step of a list carries its notes as its result.
func (b *Board) Request() (json.RawMessage, error) {
	if len(b.Plan) > 0 {
		return slices.Clone(b.Plan), nil
	}
	p := events.Plan{PlanID: b.ID, Title: b.Title}
	for i := range b.Lines {
		line := &b.Lines[i]
		s := events.SubJob{ID: fmt.Sprintf("step_%d", i+1)}
		s.Tag, s.Goal = splitTag(line.Text)
		s.Dependencies = earlier(p.SubJobs)
		if line.Mark == Completed {
			result, err := json.Marshal(firstOf(line.Notes, doneByHand))
			if err != nil {
				return nil, err
			}
			s.ExecutionRes = result
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	return json.Marshal(p)
}
