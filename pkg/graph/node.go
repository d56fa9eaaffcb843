package graph

import (
	"hash/fnv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// node is a SubJob with what is derived from the saved part.
type node struct {
	*SubJobState
	at    int32
	succs []int32
	// unfinished counts direct predecessors without a result.
	unfinished int
	// when is the parsed condition, nil without one.
	when *Condition
	// attention is true while the node is in the list of nodes that may have a pending command.
	attention bool
	// fenced is true while the node counts in Job.fencing.
	fenced bool
	// lane is the number of the lane in which its run is queued, counted from 1; 0 if it is not. behind is true while the node
	// waits for a lane. running is the lane that counts its run as RUNNING, 0 for none.
	lane, running int32
	behind        bool
	// sent is what this process has delivered for the node; never saved.
	sent struct{ run, close, fence, retry, timeout int }
}

func (n *node) planning() bool { return n.ID == events.PlanID }
func (n *node) final() bool    { return n.ID == events.FinalID }

// step reports whether the node is a step of the plan, as opposed to planning or finalising.
func (n *node) step() bool { return !n.planning() && !n.final() }

// blocked reports whether the next run must wait for something other than predecessors.
func (n *node) blocked() bool {
	return n.Closing != 0 || !n.FenceAt.IsZero() || !n.RetryAt.IsZero() || n.Request != ""
}

// live reports whether the node still has something to do in the current graph.
func (n *node) live() bool {
	switch n.Status {
	case events.Created, events.Ready, events.Running, events.Waiting:
		return true
	}
	return false
}

// workable reports whether an expert can run the node: a result that came with the plan has none.
func (n *node) workable() bool { return n.Expert != "" }

// move assigns the node's next runs to a pool. The planner need not know which pool had earlier ones, unless one of them still has
// to be closed.
func (n *node) move(pool string) {
	needed := pool != events.PlannerPool || n.Closing != 0
	if needed && n.Pool != pool && n.Pool != "" && n.Pool != events.PlannerPool && n.Run > n.poolSince() {
		n.Former = append(n.Former, events.Tenure{Pool: n.Pool, Run: n.Run})
	}
	n.Pool = pool
}

// poolSince returns the last run in another pool; 0 for none.
func (n *node) poolSince() int {
	if len(n.Former) == 0 {
		return 0
	}
	return n.Former[len(n.Former)-1].Run
}

// forget drops result, waiting and errors, so that the node can run again; the run counter stays.
func (n *node) forget() {
	n.ResultSeq, n.ResultRun, n.Given, n.Skipped, n.Selected = 0, 0, false, false, nil
	n.RetryAt, n.Started, n.Ended = time.Time{}, time.Time{}, time.Time{}
	n.Attempts, n.ResumeOf, n.Answers, n.Error = 0, 0, nil, nil
	n.Mode = ""
}

// specHash distinguishes two texts of a SubJob.
func specHash(s *events.SubJob) uint64 {
	h := fnv.New64a()
	for _, text := range []string{s.Goal, s.Context, s.CompletionCriteria, s.Expert, s.Thinking, s.When, s.Tag, s.Type, s.Language, string(s.OutputSchema)} {
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
