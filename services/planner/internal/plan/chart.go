package plan

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// doneByHand is the result of a step that was marked completed without a note.
const doneByHand = "completed"

// Hand is the CloudEvents source of facts from plan operations. It distinguishes the notes of people and models from a
// worker's milestones.
const Hand = "jobgraph/plan"

// Chart is the plan of a job, read from its log: the graph, the text of each step and the notes about it. It has one owner.
// The zero value is an empty log.
type Chart struct {
	// Job is the folded state; nil before the first event.
	Job   *graph.Job
	texts joblog.Texts
	// retries is the limit of the request itself, which no step exceeds; nil for none.
	retries *int
	// noted holds the last note about each step.
	noted map[string]note
}

// note is a note about a run.
type note struct {
	text string
	run  int
	// byHand is true for a note from a person or a model. It remains when the step runs again.
	byHand bool
}

// Step folds the next event of the log; a plan in it must be resolved. The effect says what the event changed. An error means that
// the log cannot be folded.
func (c *Chart) Step(e events.Event) (graph.Effect, error) {
	job, effect, err := joblog.Step(c.Job, &e)
	if c.Job = job; err == nil && effect.Verdict == graph.Applied {
		c.keep(&e)
	}
	return effect, err
}

// keep stores the texts of an event.
func (c *Chart) keep(e *events.Event) {
	c.texts.Take(e)
	if d, ok := e.Data.(*events.JobRequested); ok {
		c.retries = d.Request.Limits.Retries
	}
	if d, ok := e.Data.(*events.SubJobProgressed); ok && d.Message != "" {
		if c.noted == nil {
			c.noted = map[string]note{}
		}
		c.noted[e.SubJob] = note{d.Message, e.Run, e.Source == Hand}
	}
}

// planned returns a step as its plan specifies it.
func (c *Chart) planned(n *graph.SubJobState) events.SubJob {
	s, _ := c.texts.Planned(n.Spec)
	return s
}

// spec returns a step as planned and edited.
func (c *Chart) spec(n *graph.SubJobState) events.SubJob {
	s, _ := c.texts.Text(n.Spec)
	return s
}

// steps returns the nodes of the present graph, each after its dependencies, otherwise in the order of the plan.
func (c *Chart) steps() []*graph.SubJobState {
	all := c.Job.View().SubJobs
	waits := make([]int, len(all))
	next := make([][]int32, len(all))
	var ready []int32 // A heap would be faster, but plans that people read are short.
	list := make([]*graph.SubJobState, 0, len(all))
	for i, n := range all {
		if !joblog.InGraph(n) {
			continue
		}
		for _, at := range n.Deps {
			if joblog.InGraph(all[at]) {
				waits[i]++
				next[at] = append(next[at], int32(i))
			}
		}
	}
	for i, n := range all {
		if joblog.InGraph(n) && waits[i] == 0 {
			ready = insert(ready, int32(i))
		}
	}
	for len(ready) > 0 {
		at := ready[0]
		ready = ready[1:]
		list = append(list, all[at])
		for _, to := range next[at] {
			if waits[to]--; waits[to] == 0 {
				ready = insert(ready, to)
			}
		}
	}
	return list
}

// insert adds a number to a sorted list.
func insert(list []int32, n int32) []int32 {
	list = append(list, n)
	for i := len(list) - 1; i > 0 && list[i] < list[i-1]; i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
	return list
}

// live reports whether a step still has to be done.
func live(n *graph.SubJobState) bool {
	switch n.Status {
	case events.Created, events.Ready, events.Running, events.Waiting:
		return true
	}
	return false
}

// Board returns the graph with its marks and notes.
func (c *Chart) Board() Board {
	state := c.Job.View()
	b := Board{ID: state.ID, Title: firstOf(state.Title, state.Goal)}
	for _, n := range c.steps() {
		line := lineOf(c.spec(n))
		line.ID, line.Mark, line.Notes = n.ID, shown(n), c.notes(n)
		b.Lines = append(b.Lines, line)
	}
	return b
}

// shown returns the mark that people see: a step that was stopped before it began has not started, whatever stopped it.
func shown(n *graph.SubJobState) Mark {
	if n.Status == events.Stopped && n.Run == 0 {
		return NotStarted
	}
	return MarkOf(n.Status)
}

// lineOf returns the text of a step for people.
func lineOf(s events.SubJob) Line {
	text := strings.Join(strings.Fields(firstOf(s.Title, s.Goal, s.ID)), " ")
	if s.Tag != "" {
		text = "[" + strings.ToUpper(s.Tag) + "] " + text
	}
	return Line{Text: text, Mark: NotStarted}
}

// notes says why a step is blocked or was skipped, or returns the result that a person gave it; otherwise it returns the last note.
func (c *Chart) notes(n *graph.SubJobState) string {
	noted, ok := c.noted[n.ID]
	var given string
	switch {
	case n.Error != nil:
		return oneLine(n.Error.Error())
	case n.Given && json.Unmarshal(c.planned(n).ExecutionRes, &given) == nil && given != doneByHand:
		return oneLine(given)
	case n.Skipped:
		if reason, ended := EndedEarly(n.When); ended {
			return "skipped: " + reason
		}
		return "skipped: " + n.When
	case ok && (noted.byHand || noted.run == n.Run):
		return oneLine(noted.text)
	}
	return ""
}

func oneLine(text string) string { return clip.Marked(strings.Join(strings.Fields(text), " "), 500) }

// Plan returns the present graph with the results that came with the plan, as the starting point of an edit.
func (c *Chart) Plan() *events.Plan {
	state := c.Job.View()
	p := &events.Plan{Title: state.Title}
	for _, n := range c.steps() {
		s := c.planned(n) // A running step is unchanged only if its text is.
		if !live(n) {
			s = c.spec(n)
			s.When = absolute(n, s.When)
		}
		s.ID, s.Dependencies = n.ID, nil
		if !n.Given {
			s.ExecutionRes, s.ExecutionRef, s.Artifacts = nil, nil, nil // The step has to run, or ran although it had come with that result.
		}
		for _, at := range n.Deps {
			if d := state.SubJobs[at]; joblog.InGraph(d) {
				s.Dependencies = append(s.Dependencies, d.ID)
			}
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	return p
}

// absolute rewrites a step's condition for a plan of the whole job: a step from a split has to name its siblings by their full ids.
// A condition that needs no change is returned unchanged.
func absolute(n *graph.SubJobState, when string) string {
	scope := strings.TrimSuffix(n.ID, n.Spec.ID)
	return graph.RenameOperands(when, func(name, _ string) string { return scope + name })
}
