package graph

import "github.com/jobgraph/jobgraph/pkg/events"

// Run is a run of a step that may be executing, or is about to be.
type Run struct {
	// SubJob and Run name it.
	SubJob string
	Run    int
	// Begun is true when its work was given out, as far as the log or this process knows.
	Begun bool
}

// Live returns the live runs of steps in the order of the graph, and runs that were closed from outside as long as their worker may
// not have noticed. It visits all nodes.
func (j *Job) Live(yield func(Run) bool) {
	for _, n := range j.dag.nodes {
		if !n.step() {
			continue
		}
		live := Run{SubJob: n.ID, Begun: true}
		switch {
		case n.Open:
			live.Run, live.Begun = n.Run, n.Status == events.Running || n.sent.run == n.Run
		case n.Closing != 0:
			live.Run = n.Closing
		case !n.FenceAt.IsZero() && !j.Status.Terminal():
			live.Run = n.Fenced
		default:
			continue
		}
		if !yield(live) {
			return
		}
	}
}

// Admit limits Pending to the work of these runs of steps; planning and finalizing are never limited. Each call replaces the
// previous one. The limit is not stored: a cold start has none.
func (j *Job) Admit(runs []Run) {
	j.queues.admitted = make(map[string]int, len(runs))
	for _, r := range runs {
		j.queues.admitted[r.SubJob] = r.Run
		if n := j.dag.find(r.SubJob); n != nil && n.runPending() {
			j.outbox.attend(n)
		}
	}
}
