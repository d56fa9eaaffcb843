package graph

import (
	"cmp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// wordsSince is the first version of the rules in which a planner may write the result.
const wordsSince = 2

// mostObserved is the number of finished SubJobs up to which the writer of the result gets all results; beyond it, only the last
// ones.
const mostObserved = 1000

// The number of failed attempts after which the stand-in expert writes the result, and after which the planner uses a fixed text.
const (
	byStandIn = 1
	byFixed   = 2
)

// finale makes the result of a job: from the last results, by an expert, or as a text, with a fallback order of writers.
type finale struct {
	job       *State
	now       *events.Event
	dag       *dag
	runs      *runs
	lifecycle *lifecycle
}

// how says how the result is made: according to the planner for this graph, otherwise according to the rules.
func (fin *finale) how() string {
	if fin.job.Finalize != "" {
		return fin.job.Finalize
	}
	return fin.job.Rules.Finalize
}

// worded parses "summary" or "report" with the id of the stand-in expert; ok is false if the result is not a written text.
func (fin *finale) worded() (standIn string, ok bool) {
	mode, standIn, _ := strings.Cut(fin.how(), ":")
	return standIn, (mode == "summary" || mode == "report") && fin.job.Rules.Version >= wordsSince
}

// wording reports whether the result is being written: all other work is done.
func (fin *finale) wording() bool {
	f := fin.dag.find(events.FinalID)
	if f == nil || !f.live() {
		return false
	}
	_, ok := fin.worded()
	return ok
}

// address addresses the finalization to an expert, or to the planner.
func (fin *finale) address(f *node, expert string) {
	f.Expert, f.Pure = expert, fin.job.FinalPure
	if expert == events.PlannerExpert {
		f.Pure = false
		f.move(events.PlannerPool)
		return
	}
	f.move(cmp.Or(fin.job.FinalPool, events.DefaultPool))
}

// descend passes the writing of the result to the next level of the fallback order: the model, the stand-in expert, the planner
// with a fixed text. If that fails too, the result is the stand-in's text or the last results, so that finished work never fails
// because of its summary. It is false for every other node.
func (fin *finale) descend(n *node, f *events.Fault) bool {
	standIn, ok := fin.worded()
	if !ok || !n.final() {
		return false
	}
	n.Error = f
	n.ResumeOf, n.Answers = 0, nil
	if fin.now.Kind == events.KindSubJobReported {
		n.Lessons = append(n.Lessons, fin.now.Seq)
	}
	n.Attempts++
	if n.Attempts == byStandIn && (standIn == "" || overBudget(fin.job)) {
		n.Attempts = byFixed
	}
	switch n.Attempts {
	case byStandIn:
		fin.address(n, standIn)
	case byFixed:
		fin.address(n, events.PlannerExpert)
	default:
		n.Ended = fin.now.Time
		fin.runs.move(n, events.Failed, "failed")
		fin.lifecycle.end(events.Finished, nil)
		return true
	}
	fin.runs.again(n)
	return true
}

// relay passes the expert's text to the planner, which completes it like a model's text.
func (fin *finale) relay(n *node) bool {
	if _, ok := fin.worded(); !ok || !n.final() || n.Expert == events.PlannerExpert {
		return false
	}
	n.Attempts, n.ResumeOf, n.Answers = byFixed, 0, nil
	fin.address(n, events.PlannerExpert)
	fin.runs.again(n)
	return true
}

// observed returns the SubJobs whose results the writer of the job's result gets.
func (fin *finale) observed() []int32 {
	if _, ok := fin.worded(); !ok {
		return fin.dag.tails()
	}
	var all []int32
	for _, n := range fin.dag.nodes {
		if n.step() && n.Status == events.Finished && !n.Skipped {
			all = append(all, n.at)
		}
	}
	if len(all) > mostObserved {
		return fin.dag.tails()
	}
	return all
}

// carried adds the finished plan to the order of a finalization, and the text that an expert has written.
func (fin *finale) carried(n *node, o *Order) {
	if _, ok := fin.worded(); !ok {
		return
	}
	o.Finalize = fin.how()
	for _, at := range n.Deps {
		d := fin.dag.nodes[at]
		step := Step{ID: d.ID, Spec: d.Spec}
		for _, before := range d.Deps {
			step.Deps = append(step.Deps, fin.dag.nodes[before].ID)
		}
		o.Steps = append(o.Steps, step)
		if !strings.Contains(d.ID, "~") { // A replacement has its own plan.
			o.PlanSeq = max(o.PlanSeq, d.Spec.Seq)
		}
	}
	if n.ResultSeq != 0 {
		o.Inputs = append(o.Inputs, Input{SubJob: n.ID, Run: n.ResultRun, Seq: n.ResultSeq})
	}
}

// begin starts the end of a graph in which nothing is left to do.
func (fin *finale) begin() {
	for _, status := range []events.Status{events.Failed, events.Stopped} {
		if fin.dag.number(status) > 0 {
			fin.lifecycle.end(status, fin.dag.firstError(status))
			return
		}
	}
	expert := finalExpert(fin.how())
	if _, ok := fin.worded(); ok {
		expert = events.PlannerExpert
	}
	if f := fin.dag.find(events.FinalID); expert == "" || f != nil && f.Status == events.Finished && f.ResultSeq > fin.dag.lastResult() {
		fin.lifecycle.end(events.Finished, nil)
		return
	}
	fin.start(expert)
}

func (fin *finale) start(expert string) {
	f := fin.dag.find(events.FinalID)
	if f == nil {
		f = fin.dag.add(SubJobState{ID: events.FinalID, Status: events.Created, RetryLimit: fin.job.Rules.Retries})
	}
	if f.live() && f.Status != events.Created {
		if f.Request != "" {
			fin.lifecycle.move(events.Waiting)
		} else {
			fin.lifecycle.move(events.Finalizing)
		}
		return
	}
	f.Mode = events.WorkFinalize
	fin.address(f, expert)
	if f.Status != events.Created {
		f.forget()
		f.Mode = events.WorkFinalize
		fin.runs.move(f, events.Created, "requeued")
	}
	f.Deps = fin.observed()
	fin.lifecycle.move(events.Finalizing)
	fin.runs.look(f)
	fin.runs.drain()
}

// inputs returns where the job's result is: in an answer, the final expert's output, or the last results.
func (fin *finale) inputs() []Input {
	if fin.job.AnswerSeq != 0 {
		return []Input{{SubJob: events.PlanID, Run: fin.dag.plan().Run, Seq: fin.job.AnswerSeq}}
	}
	if f := fin.dag.find(events.FinalID); f != nil && f.ResultSeq != 0 && f.Status.Terminal() && fin.job.Status == events.Finished {
		return []Input{{SubJob: f.ID, Run: f.ResultRun, Seq: f.ResultSeq}}
	}
	if fin.how() == "none" {
		return nil
	}
	var inputs []Input
	for _, id := range fin.job.Tails {
		n := fin.dag.find(id)
		in := Input{SubJob: n.ID, Run: n.ResultRun, Seq: n.ResultSeq}
		if n.Given {
			in.Spec = n.Spec
		}
		inputs = append(inputs, in)
	}
	return inputs
}

func finalExpert(finalize string) string {
	const mode = "expert:"
	if len(finalize) > len(mode) && finalize[:len(mode)] == mode {
		return finalize[len(mode):]
	}
	return ""
}
