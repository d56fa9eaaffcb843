package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Blocker is one reason why something is not running, and what would unblock it.
type Blocker struct {
	// SubJob is the one that does not run; empty for the job as a whole.
	SubJob string `json:"subjob,omitempty"`
	// Code names the reason: ended, planning, input, timer, dependency, retry, fence, closing, concurrency, work, running,
	// finished, replanning, finalizing or legacy.
	Code string `json:"code"`
	// Message describes it; Unblock says what would help.
	Message string `json:"message"`
	Unblock string `json:"unblock,omitempty"`
}

// Why explains why a SubJob, or with an empty id every unfinished one, is not running.
func (j *Job) Why(subjob string) []Blocker {
	x := explanation{&j.State, &j.dag, &j.runs, &j.waits}
	if subjob != "" {
		n := j.dag.find(subjob)
		if n == nil {
			return nil
		}
		return []Blocker{x.blocker(n)}
	}
	if j.Status.Terminal() {
		b := Blocker{Code: "ended", Message: "the job is " + string(j.Status)}
		if j.Error != nil {
			b.Message += ": " + j.Error.Error()
		}
		if j.Status != events.Finished {
			b.Unblock = "jobgraph recover " + j.State.ID
		}
		return []Blocker{b}
	}
	var all []Blocker
	for _, n := range j.dag.nodes {
		if n.live() {
			all = append(all, x.blocker(n))
		}
	}
	return all
}

// explanation explains why SubJobs of a job do not run.
type explanation struct {
	job   *State
	dag   *dag
	runs  *runs
	waits *waits
}

func (x explanation) blocker(n *node) Blocker {
	b := Blocker{SubJob: n.ID}
	ref := x.job.ID + "/" + n.ID
	switch {
	case n.Status == events.Legacy:
		b.Code, b.Message = "legacy", "it was replaced in a later version of the graph"
	case n.Status == events.Finished && n.Skipped:
		b.Code, b.Message = "finished", "it was skipped: its condition did not hold: "+n.When
	case n.Status == events.Finished:
		b.Code, b.Message = "finished", fmt.Sprintf("it is FINISHED by run %d", n.ResultRun)
	case n.Status.Terminal():
		b.Code, b.Message, b.Unblock = "ended", "it is "+string(n.Status), "jobgraph retry "+ref
		if n.Error != nil {
			b.Message += ": " + n.Error.Error()
		}
	case n.Request != "" && x.waits.inputs[n.Request] != nil && x.waits.inputs[n.Request].Kind == events.InputTimer:
		b.Code, b.Message = "timer", fmt.Sprintf("run %d gave its work back and goes on at %s", n.Run, stamp(x.waits.inputs[n.Request].Expires))
		b.Unblock = "time passes"
	case n.Request != "":
		b.Code, b.Message, b.Unblock = "input", "it waits for an answer to request "+n.Request, AnswerCommand(x.job.ID, n.Request, x.waits.kind(n.Request))
	case n.Closing != 0:
		b.Code, b.Message, b.Unblock = "closing", fmt.Sprintf("run %d is being closed: %s", n.Closing, n.CloseReason), "a running scheduler"
	case !n.FenceAt.IsZero():
		b.Code, b.Message, b.Unblock = "fence", fmt.Sprintf("the lease of closed run %d has to pass first, at %s", n.Fenced, stamp(n.FenceAt)), "the worker of that run reports, or time passes"
	case !n.RetryAt.IsZero():
		_, most := n.Attempt()
		b.Code, b.Message = "retry", fmt.Sprintf("attempt %d of %d failed, the next is due at %s", n.Attempts, most, stamp(n.RetryAt))
		b.Unblock = "time passes"
		if n.Error != nil {
			b.Message += ": " + n.Error.Error()
		}
	case n.Open && n.Status == events.Running:
		b.Code, b.Message = "running", fmt.Sprintf("run %d is being worked on since %s", n.Run, stamp(n.Started))
	case n.Open && planningMode(n.Mode):
		b.Code, b.Message = "work", fmt.Sprintf("planning run %d waits for a planner, or one is at it: the log tells its stages", n.Run)
		b.Unblock = "a running planner; jobgraph events " + x.job.ID
	case n.Open:
		b.Code, b.Message = "work", fmt.Sprintf("run %d is in the queue of pool %s for expert %s", n.Run, n.pool(), n.expert())
		b.Unblock = "a runner that serves pool " + n.pool() + " and has a free place, when its turn has come"
	default:
		x.heldBack(n, &b)
	}
	return b
}

// AnswerCommand returns the command that closes a request of a job.
func AnswerCommand(job, request string, kind events.InputKind) string {
	if kind == events.InputApproval || kind == events.InputReview {
		return "jobgraph approve|reject " + job + " " + request
	}
	return "jobgraph answer " + job + " " + request + " TEXT"
}

// heldBack explains a node without a run, a question, a fence or a back-off.
func (x explanation) heldBack(n *node, b *Blocker) {
	var missing []string
	for _, at := range n.Deps {
		if d := x.dag.nodes[at]; d.Status != events.Finished {
			missing = append(missing, d.ID+" ("+string(d.Status)+")")
		}
	}
	switch {
	case len(missing) > 0:
		b.Code, b.Message = "dependency", "it waits for "+strings.Join(missing[:min(len(missing), 10)], ", ")
		b.Unblock = "jobgraph why " + x.job.ID + " explains those"
	case x.job.Replanning || x.dag.plan().live():
		b.Code, b.Message, b.Unblock = "replanning", "the remainder of the job is being planned again", "a running planner"
	default:
		b.Code, b.Message = "concurrency", fmt.Sprintf("%d of %d places of the job are taken", x.runs.open, x.job.Rules.Concurrency)
		b.Unblock = "a running SubJob ends, or limits.concurrency is higher"
	}
}

// Queue returns the pool that has the work of the SubJob's present run, and the expert for which it is.
func (n *SubJobState) Queue() (pool, expert string) { return n.pool(), n.expert() }

func (n *SubJobState) pool() string {
	if planningMode(n.Mode) {
		return events.PlannerPool
	}
	return n.Pool
}

func (n *SubJobState) expert() string {
	if planningMode(n.Mode) {
		return events.PlannerExpert
	}
	return n.Expert
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
