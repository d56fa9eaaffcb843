package graph

import "github.com/jobgraph/jobgraph/pkg/events"

// Lane is the work of a job in one pool, as far as this process has limited it.
type Lane struct {
	// Pool is the name of the pool.
	Pool string
	// Queued counts admitted runs that are not executing yet according to the log: a long run is no longer queued once it is
	// RUNNING.
	Queued int
	// Running counts those that are RUNNING.
	Running int
	// Behind is at least the number of runs that were not admitted yet.
	Behind int
}

// lane is a Lane with its waiting nodes, beginning at from; some of them may no longer need work.
type lane struct {
	Lane
	behind []int32
	from   int
}

// queues is the work of a job in the queues of pools, and which of its runs may enter them. It is never saved.
type queues struct {
	dag    *dag
	outbox *outbox
	// gate decides about each run during PendingWithin; lanes are the lanes per pool, once a gate was used.
	gate  func(pool string) bool
	lanes []lane
	// admitted are the runs of steps, by SubJob, whose work Pending may return; nil admits all.
	admitted map[string]int
}

// PendingWithin is like Pending, for a process that does not publish all work at once: the gate is asked once for each pending
// run. A refused run waits, in the order of the graph, until Release admits it. All other commands are given as usual. Waiting
// runs are not stored: a cold start asks the gate again.
func (j *Job) PendingWithin(gate func(pool string) bool) []Command {
	j.queues.gate = gate
	defer func() { j.queues.gate = nil }()
	return j.Pending()
}

// Release admits up to n waiting runs of a pool, and returns how many there were.
func (j *Job) Release(pool string, n int) (released int) {
	at := j.queues.laneOf(pool)
	for released < n && j.queues.lanes[at].from < len(j.queues.lanes[at].behind) {
		l := &j.queues.lanes[at]
		m := j.dag.nodes[l.behind[l.from]]
		l.from++
		m.behind = false
		if m.runPending() && j.queues.admits(m) { // Otherwise it returns when its work is pending.
			j.queues.enqueue(m) // It may join another lane, because an edit has moved the node.
			j.outbox.attend(m)
			released++
		}
	}
	l := &j.queues.lanes[at]
	if l.from == len(l.behind) {
		l.behind, l.from = l.behind[:0], 0
	}
	l.Behind = len(l.behind) - l.from
	return released
}

// Lanes returns the lanes per pool, in the order of first use; they are valid until the next call of any method.
func (j *Job) Lanes(yield func(i int, l Lane) bool) {
	for i := range j.queues.lanes {
		if !yield(i, j.queues.lanes[i].Lane) {
			return
		}
	}
}

// Address returns the pool and the expert of a SubJob's next run; both are empty for an unknown SubJob.
func (j *Job) Address(subjob string) (pool, expert string) {
	if n := j.dag.find(subjob); n != nil {
		return n.Pool, n.Expert
	}
	return "", ""
}

// Handed returns the session of a SubJob that was handed off, and the SubJob's title; both are empty for any other.
func (j *Job) Handed(subjob string) (session, title string) {
	if n := j.dag.find(subjob); n != nil && n.Session != "" {
		return n.Session, n.Title
	}
	return "", ""
}

// runPending reports whether the work of the node's run must still be published.
func (n *node) runPending() bool { return n.Open && n.Status == events.Ready && n.sent.run != n.Run }

// passes reports whether a pending run may be given now; otherwise it waits.
func (q *queues) passes(n *node) bool {
	if q.gate == nil || n.lane != 0 {
		return true
	}
	if n.behind {
		return false
	}
	pool := n.pool()
	if q.gate(pool) {
		q.enqueue(n)
		return true
	}
	l := &q.lanes[q.laneOf(pool)]
	l.behind = append(l.behind, n.at)
	l.Behind++
	n.behind = true
	return false
}

// enqueue counts a node's run as queued until it executes or ends.
func (q *queues) enqueue(n *node) {
	if n.lane == 0 {
		at := q.laneOf(n.pool())
		q.lanes[at].Queued++
		n.lane = int32(at + 1)
	}
}

// dequeue stops counting a node's run as queued.
func (q *queues) dequeue(n *node) {
	if n.lane != 0 {
		q.lanes[n.lane-1].Queued--
		n.lane = 0
	}
}

// began counts a queued run as RUNNING. Runs that an earlier process admitted are not counted.
func (q *queues) began(n *node) {
	if n.lane == 0 {
		return
	}
	q.lanes[n.lane-1].Running++
	n.running = n.lane
}

// over stops counting a node's run as RUNNING.
func (q *queues) over(n *node) {
	if n.running != 0 {
		q.lanes[n.running-1].Running--
		n.running = 0
	}
}

// laneOf finds the lane of a pool, which begins with its first use. A job has few.
func (q *queues) laneOf(pool string) int {
	for i := range q.lanes {
		if q.lanes[i].Pool == pool {
			return i
		}
	}
	q.lanes = append(q.lanes, lane{Lane: Lane{Pool: pool}})
	return len(q.lanes) - 1
}

func (q *queues) admits(n *node) bool {
	return q.admitted == nil || !n.step() || q.admitted[n.ID] == n.Run
}
