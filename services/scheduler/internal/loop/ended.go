package loop

import "github.com/jobgraph/jobgraph/pkg/events"

// ended remembers the jobs that have ended and were saved lately, with the last event that their states have. A repeat that still
// comes for them is settled without a load. The zero value is empty and ready to use.
type ended struct {
	// recent takes new ones until it is full, and is then older, which was dropped.
	recent, older map[string]uint64
}

// maxEnded is how many jobs each half of the memory has: a few MiB.
const maxEnded = 1 << 15

// add remembers a job by the last event of its saved state.
func (n *ended) add(job string, seq uint64) {
	if n.recent == nil || len(n.recent) >= maxEnded {
		n.recent, n.older = map[string]uint64{}, n.recent
	}
	n.recent[job] = seq
}

// settles reports whether an event is in the saved state already. Any other has the job forgotten: it is folded like all others,
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
