package loop

import "github.com/jobgraph/jobgraph/pkg/events"

// ended remembers recently ended and saved jobs, with the last event of their states, so that repeats are settled without loading
// them. The zero value is empty and ready to use.
type ended struct {
	// recent takes new entries until it is full; then it becomes older, and the previous older is dropped.
	recent, older map[string]uint64
}

// maxEnded is the number of jobs in each half: a few MiB.
const maxEnded = 1 << 15

// add remembers a job by the last event of its saved state.
func (n *ended) add(job string, seq uint64) {
	if n.recent == nil || len(n.recent) >= maxEnded {
		n.recent, n.older = map[string]uint64{}, n.recent
	}
	n.recent[job] = seq
}

// settles reports whether the saved state contains an event. Any other event makes the job forgotten here: it is folded as usual,
// so that the saved state stays the fold of the whole log.
func (n *ended) settles(e *events.Event) bool {
	seq, known := n.recent[e.Job]
	if !known {
		if seq, known = n.older[e.Job]; !known {
			return false
		}
	}
	if e.Seq <= seq {
		return true
	}
	delete(n.recent, e.Job)
	delete(n.older, e.Job)
	return false
}
