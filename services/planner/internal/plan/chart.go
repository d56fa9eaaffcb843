package plan

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// doneByHand is the result of a step that was marked completed without a note.
const doneByHand = "completed"

// Hand is the CloudEvents source of what people and models state with the plan operations. What they noted about a step is
// told from a worker's own milestones by it.
const Hand = "jobgraph/plan"

// Chart is the plan of a job as its log tells it: the graph as it stands, the text of its steps and what was noted about
// them. It has one owner. The zero value is a log of which nothing was read yet.
type Chart struct {
	// Job is the fold; nil before the first event.
	Job   *graph.Job
	texts joblog.Texts
	// noted is what was last noted about each step.
	noted map[string]note
}

// note is a milestone of a run.
type note struct {
	text string
	run  int
	// byHand is true for what a person or a model noted: it stays when the step runs again.
	byHand bool
}

// Step folds one more event, in the order of the log and with its plan filled in. The effect says what became of it. An error
// means that the log cannot be folded.
func (c *Chart) Step(e events.Event) (graph.Effect, error) {
	job, effect, err := joblog.Step(c.Job, &e)
	if c.Job = job; err == nil && effect.Verdict == graph.Applied {
		c.keep(&e)
	}
	return effect, err
}

// keep remembers the texts of an event.
func (c *Chart) keep(e *events.Event) {
	c.texts.Take(e)
	if d, ok := e.Data.(*events.SubJobProgressed); ok && d.Message != "" {
		if c.noted == nil {
			c.noted = map[string]note{}
		}
		c.noted[e.SubJob] = note{d.Message, e.Run, e.Source == Hand}
	}
}

// planned is the text of a step as its plan says it.
func (c *Chart) planned(n *graph.SubJobState) events.SubJob {
	s, _ := c.texts.Planned(n.Spec)
	return s
}

// spec is the text of a step as planned and edited.
func (c *Chart) spec(n *graph.SubJobState) events.SubJob {
	s, _ := c.texts.Text(n.Spec)
	return s
}

// steps are the nodes of the graph as it stands, each behind those it depends on, otherwise in the order of the plan.
func (c *Chart) steps() []*graph.SubJobState {
	all := c.Job.View().SubJobs
	waits := make([]int, len(all))
	next := make([][]int32, len(all))
	var ready []int32 // A heap would be quicker; plans that people read are short.
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

// insert puts a number into a sorted list.
func insert(list []int32, n int32) []int32 {
	list = append(list, n)
	for i := len(list) - 1; i > 0 && list[i] < list[i-1]; i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
	return list
}

// live reports whether a step is still to be done.
func live(n *graph.SubJobState) bool {
	switch n.Status {
	case events.Created, events.Ready, events.Running, events.Waiting:
		return true
	}
	return false
}

// Board shows the graph with its marks and notes.
func (c *Chart) Board() Board {
	state := c.Job.View()
	b := Board{ID: state.ID, Title: firstOf(state.Title, state.Goal)}
	for _, n := range c.steps() {
		line := lineOf(c.spec(n))
		line.ID, line.Mark, line.Notes = n.ID, MarkOf(n.Status), c.notes(n)
		b.Lines = append(b.Lines, line)
	}
	return b
}

// lineOf is the text of a step as people see it.
func lineOf(s events.SubJob) Line {
	text := strings.Join(strings.Fields(firstOf(s.Title, s.Goal, s.ID)), " ")
	if s.Tag != "" {
		text = "[" + strings.ToUpper(s.Tag) + "] " + text
	}
	return Line{Text: text, Mark: NotStarted}
}

// notes says why a step is blocked or was passed over, or the text that it arrived with; otherwise what was last noted about
// it.
func (c *Chart) notes(n *graph.SubJobState) string {
	noted, ok := c.noted[n.ID]
	var given string
	switch {
	case n.Error != nil:
		return oneLine(n.Error.Error())
	case n.Given && json.Unmarshal(c.planned(n).ExecutionRes, &given) == nil && given != doneByHand:
		return oneLine(given)
	case n.Skipped:
		return "skipped: " + n.When
	case ok && (noted.byHand || noted.run == n.Run):
		return oneLine(noted.text)
	}
	return ""
}

func oneLine(text string) string { return clip(strings.Join(strings.Fields(text), " "), 500) }

// Plan is the graph as it stands, with the results that came with the plan: what an edit of it begins with.
func (c *Chart) Plan() *events.Plan {
	state := c.Job.View()
	p := &events.Plan{Title: state.Title}
	for _, n := range c.steps() {
		s := c.planned(n) // What goes on stays as it is only if its text does.
		if !live(n) {
			s = c.spec(n)
			s.When = absolute(n, s.When)
		}
		s.ID, s.Dependencies = n.ID, nil
		if !n.Given {
			s.ExecutionRes, s.ExecutionRef, s.Artifacts = nil, nil, nil // It is to be done, or was, since it came with that.
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

// absolute is the condition of a step as it reads in a plan of the whole job: a step that came out of a split names its siblings
// by their full ids there. What stays as it is keeps its condition as it stands.
func absolute(n *graph.SubJobState, when string) string {
	scope := strings.TrimSuffix(n.ID, n.Spec.ID)
	return graph.RenameOperands(when, func(name, _ string) string { return scope + name })
}
