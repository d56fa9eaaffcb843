package graph

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// wordsSince is the first version of the rules under which a planner may put the result into words.
const wordsSince = 2

// mostObserved is up to how many finished SubJobs are all told to whoever puts the result into words; of more, the tails.
const mostObserved = 1000

// How many attempts at putting a result into words have failed when it is the turn of the expert that stands in for the
// model, and of the planner with fixed words.
const (
	byStandIn = 1
	byFixed   = 2
)

// finale is how the result is made: as the planner has said for this graph, else as the rules say.
func (j *Job) finale() string {
	if j.State.Finalize != "" {
		return j.State.Finalize
	}
	return j.Rules.Finalize
}

// worded reads "summary" or "report" with the id of the expert that stands in for the model; ok is false where nobody puts
// the result into words.
func (j *Job) worded() (standIn string, ok bool) {
	mode, standIn, _ := strings.Cut(j.finale(), ":")
	return standIn, (mode == "summary" || mode == "report") && j.Rules.Version >= wordsSince
}

// wording reports whether somebody is putting the result into words: all work is done.
func (j *Job) wording() bool {
	f := j.find(events.FinalID)
	if f == nil || !f.live() {
		return false
	}
	_, ok := j.worded()
	return ok
}

// address sends the finalisation to an expert, or to the planner.
func (j *Job) address(f *node, expert string) {
	f.Expert, f.Pool, f.Pure = expert, j.FinalPool, j.FinalPure
	switch {
	case expert == events.PlannerExpert:
		f.Pool, f.Pure = events.PlannerPool, false
	case f.Pool == "":
		f.Pool = events.DefaultPool
	}
}

// descend hands the wording of the result to whoever is next: the model, the expert that stands in for it, the planner with
// fixed words. When even that came to nothing the result is what the stand-in wrote, else it is made of the tails: a job whose work is done does not fail for
// want of words. It is false for every other node.
func (j *Job) descend(n *node, f *events.Fault) bool {
	standIn, ok := j.worded()
	if !ok || !n.final() {
		return false
	}
	n.Error = f
	n.ResumeOf, n.Answers = 0, nil
	if j.now.Kind == events.KindSubJobReported {
		n.Lessons = append(n.Lessons, j.now.Seq)
	}
	n.Attempts++
	if n.Attempts == byStandIn && (standIn == "" || j.overBudget()) {
		n.Attempts = byFixed
	}
	switch n.Attempts {
	case byStandIn:
		j.address(n, standIn)
	case byFixed:
		j.address(n, events.PlannerExpert)
	default:
		n.Ended = j.now.Time
		j.move(n, events.Failed, "failed")
		j.end(events.Finished, nil)
		return true
	}
	j.again(n)
	return true
}

// relay gives what the expert wrote to the planner, which sets it as it would set a model's words.
func (j *Job) relay(n *node) bool {
	if _, ok := j.worded(); !ok || !n.final() || n.Expert == events.PlannerExpert {
		return false
	}
	n.Attempts, n.ResumeOf, n.Answers = byFixed, 0, nil
	j.address(n, events.PlannerExpert)
	j.again(n)
	return true
}

// observed are the SubJobs whose results are told to whoever makes the job's result.
func (j *Job) observed() []int32 {
	if _, ok := j.worded(); !ok {
		return j.tails()
	}
	var all []int32
	for _, n := range j.nodes {
		if n.step() && n.Status == events.Finished && !n.Skipped {
			all = append(all, n.at)
		}
	}
	if len(all) > mostObserved {
		return j.tails()
	}
	return all
}

// carried adds to the order of a finalisation what was carried out, and what an expert has written of it.
func (j *Job) carried(n *node, o *Order) {
	if _, ok := j.worded(); !ok {
		return
	}
	o.Finalize = j.finale()
	for _, at := range n.Deps {
		d := j.nodes[at]
		step := Step{ID: d.ID, Spec: d.Spec}
		for _, before := range d.Deps {
			step.Deps = append(step.Deps, j.nodes[before].ID)
		}
		o.Steps = append(o.Steps, step)
		if !strings.Contains(d.ID, "~") { // What was spliced in comes with a plan of its own.
			o.PlanSeq = max(o.PlanSeq, d.Spec.Seq)
		}
	}
	if n.ResultSeq != 0 {
		o.Inputs = append(o.Inputs, Input{SubJob: n.ID, Run: n.ResultRun, Seq: n.ResultSeq})
	}
}
