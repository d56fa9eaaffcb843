package graph

import "github.com/jobgraph/jobgraph/pkg/events"

// Lane is what a job has in one pool, as far as this process has a say in when it gets there.
type Lane struct {
	// Pool is the pool.
	Pool string
	// Queued counts runs that were let through and are not yet worked on, as far as the log says: a run that lasts is no
	// longer queued once it is RUNNING.
	Queued int
	// Running counts those that are RUNNING.
	Running int
	// Behind is at least the number of runs that were not let through yet.
	Behind int
}

// lane is a Lane with the nodes that wait behind it, the first at from; some may need no work any more.
type lane struct {
	Lane
	behind []int32
	from   int
}

// queues is what a job has in the queues of pools, and which of its runs may be given to them. Nothing of it is saved.
type queues struct {
	dag    *dag
	outbox *outbox
	// gate is asked for each run during PendingWithin; lanes are what the job has per pool, once a gate was asked.
	gate  func(pool string) bool
	lanes []lane
	// admitted are the runs of steps, by SubJob, whose work Pending may give; every one when nil.
	admitted map[string]int
}

// PendingWithin is Pending for a process that does not publish all work at once: the gate is asked once for each run that is
// pending. Where it says no, the run stays behind, in the order of the graph, until Release lets it through. All else that is
// pending is given as ever. What is behind is not stored: a cold start asks the gate again.
func (j *Job) PendingWithin(gate func(pool string) bool) []Command {
	j.queues.gate = gate
	defer func() { j.queues.gate = nil }()
	return j.Pending()
}

// Release lets up to n runs of a pool through that stayed behind, and gives how many there were.
func (j *Job) Release(pool string, n int) (released int) {
	at := j.queues.laneOf(pool)
	for released < n && j.queues.lanes[at].from < len(j.queues.lanes[at].behind) {
		l := &j.queues.lanes[at]
		m := j.dag.nodes[l.behind[l.from]]
		l.from++
		m.behind = false
		if m.runPending() && j.queues.admits(m) { // One that is not comes back when it is.
			j.queues.enqueue(m) // May begin another lane: an edit has sent the node elsewhere.
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

// Lanes gives what the job has per pool, in the order in which the pools were first used; it is valid until the next call of
// anything.
func (j *Job) Lanes(yield func(i int, l Lane) bool) {
	for i := range j.queues.lanes {
		if !yield(i, j.queues.lanes[i].Lane) {
			return
		}
	}
}

// Address is the pool and the expert that a SubJob's next run would go to; both are empty for one that there is not.
func (j *Job) Address(subjob string) (pool, expert string) {
	if n := j.dag.find(subjob); n != nil {
		return n.Pool, n.Expert
	}
	return "", ""
}

// runPending reports whether the work of the node's run has to be published still.
func (n *node) runPending() bool { return n.Open && n.Status == events.Ready && n.sent.run != n.Run }

// passes reports whether a run that is pending may be given now; one that may not stays behind.
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

// enqueue counts a node's run as queued, until it is worked on or over.
func (q *queues) enqueue(n *node) {
	if n.lane == 0 {
		at := q.laneOf(n.pool())
		q.lanes[at].Queued++
		n.lane = int32(at + 1)
	}
}

// dequeue ends that.
func (q *queues) dequeue(n *node) {
	if n.lane != 0 {
		q.lanes[n.lane-1].Queued--
		n.lane = 0
	}
}

// began counts a queued run that is RUNNING from now on. A run that was let through by an earlier process is not counted.
func (q *queues) began(n *node) {
	if n.lane == 0 {
		return
	}
	q.lanes[n.lane-1].Running++
	n.running = n.lane
}

// over ends that.
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
