package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
)

// admission owns how much work goes into the queues of pools, and whose is next. All of it is memory: after a restart the jobs owe
// their work again, and wait here again.
type admission struct {
	*env
	builder *workBuilder
	limits  map[string]*queueLimit
	// gate admits runs of current, the job that is asked for what it owes.
	gate    func(pool string) bool
	current *job
	// refused is true when something was kept back since the jobs were last asked.
	refused bool
	// done brings readings of pools' queues, of which underWay are to come.
	done     chan reading
	underWay int
}

// queueLimit bounds the queue of one pool: how much work is in it, and which jobs wait until there is room.
type queueLimit struct {
	window
	pool  string
	queue fair.Queue
}

// use is what a job has in the queue of a pool.
type use struct {
	limit           *queueLimit
	queued, running int
}

// jobLimits is what admission knows of one job.
type jobLimits struct {
	// uses are what it has in the queues of pools.
	uses []use
	// behind is true while work of it waits for its turn.
	behind bool
	// turns are the limits in which its turn has come while its state was read.
	turns []*queueLimit
	// listed is true while the job is in the list of a rebalance.
	listed bool
}

// leave takes back what a job counts for: its state is not known any more, or over.
func (l *jobLimits) leave() {
	for i := range l.uses {
		l.uses[i].limit.drop(l.uses[i])
	}
	l.uses = nil
}

func newAdmission(b *workBuilder) *admission {
	a := &admission{env: b.env, builder: b, limits: map[string]*queueLimit{}, done: make(chan reading)}
	a.gate = a.admits
	return a
}

// limit is that of a pool.
func (a *admission) limit(pool string) *queueLimit {
	l := a.limits[pool]
	if l == nil {
		l = &queueLimit{pool: pool, window: newWindow(a.Window, a.Queues != nil)}
		a.limits[pool] = l
	}
	return l
}

// use is what a job has in the queue of a pool; nothing at first.
func (a *admission) use(j *job, pool string) *use {
	for i := range j.limits.uses {
		if j.limits.uses[i].limit.pool == pool {
			return &j.limits.uses[i]
		}
	}
	j.limits.uses = append(j.limits.uses, use{limit: a.limit(pool)})
	return &j.limits.uses[len(j.limits.uses)-1]
}

// pending is what a job owes and may publish now. Without a window that is everything.
func (a *admission) pending(j *job) []graph.Command {
	if a.Window == 0 {
		return j.state.Pending()
	}
	a.current = j
	return j.state.PendingWithin(a.gate)
}

// admits is the gate: a run goes into its pool's queue while that is short and no job waits for the same.
func (a *admission) admits(pool string) bool {
	u := a.use(a.current, pool)
	if u.limit.full() || u.limit.queue.Len() > 0 {
		a.refused = true
		return false
	}
	u.limit.enter(a.now, 1)
	u.queued++
	return true
}

// count brings the limits up to date with a job, and queues it where work of it stays behind.
func (a *admission) count(ctx context.Context, j *job) {
	if a.Window == 0 || j.state == nil {
		return
	}
	j.limits.behind = false
	for _, has := range j.state.Lanes {
		u := a.use(j, has.Pool)
		limit, now := u.limit, use{limit: u.limit, queued: has.Queued, running: has.Running}
		limit.change(a.now, *u, now)
		*u = now
		if has.Behind == 0 {
			continue
		}
		j.limits.behind = true
		if !limit.queue.Has(j.id) {
			item := a.item(ctx, j)
			item.Served = has.Queued+has.Running > 0
			limit.queue.Join(item)
			a.Meter.Count(Lined, has.Pool)
		}
	}
	if !j.limits.behind && !j.slots.waiting {
		j.reminder.reset()
	}
}

// item is a job in the fair queue: it shares the turns of its session, else of its user, else of all jobs that have neither.
func (a *admission) item(ctx context.Context, j *job) fair.Item {
	s := &j.state.State
	t := fair.Item{Job: j.id}
	switch {
	case s.Session != "":
		t.Group = "session " + s.Session
	case s.User != "":
		t.Group = "user " + s.User
	}
	if r, err := a.builder.requested(ctx, j); err == nil { // Without it the work could not be written either, which says so.
		t.Priority = r.Request.Priority
	}
	return t
}

// waits reports whether work of any job waits for its turn, as far as is known.
func (a *admission) waits() bool {
	if a.refused {
		return true
	}
	for _, l := range a.limits { // any order: one is enough.
		if l.queue.Len() > 0 {
			return true
		}
	}
	return false
}

// fit fits the windows of all pools to what their workers take.
func (a *admission) fit() {
	for _, l := range a.limits { // any order: pools have nothing in common.
		l.pace(a.now, l.queue.Len() > 0)
	}
}

// promise counts a run of a job whose turn has come in a limit, and which is not in memory: its state is read first.
func (a *admission) promise(j *job, limit *queueLimit) {
	j.limits.turns = append(j.limits.turns, limit)
	a.use(j, limit.pool).queued++ // So that it counts, until it is known what the job has.
	limit.enter(a.now, 1)
}

// release lets one run of a job through in a limit, whose turn it is.
func (j *job) release(limit *queueLimit) {
	released := j.state.Release(limit.pool, 1)
	j.changed = j.changed || released > 0
}

// takeTurns lets the runs through whose turn came while the state of a job was read.
func (a *admission) takeTurns(j *job) {
	if len(j.limits.turns) == 0 {
		return
	}
	j.state.PendingWithin(func(string) bool { return false }) // Finds what is behind; what else is owed is owed still.
	for _, limit := range j.limits.turns {
		j.release(limit)
	}
}

// reading is what a reading of a pool's queue has brought.
type reading struct {
	limit *queueLimit
	depth Depth
	err   error
}

// measure begins a reading of each queue that is due for one, in a goroutine that ends with the answer.
func (a *admission) measure(ctx context.Context) {
	if a.Queues == nil {
		return
	}
	for _, l := range a.limits { // any order: pools have nothing in common.
		if !l.due(a.now, l.queue.Len() > 0) {
			continue
		}
		l.ask()
		a.underWay++
		go func() {
			r := reading{limit: l}
			r.depth, r.err = a.Queues.Depth(ctx, l.pool)
			a.done <- r // Taken by the loop, or by awaitAll.
		}()
	}
}

// nextReading is when the first reading of a queue is due; ok is false when none is.
func (a *admission) nextReading() (at time.Time, ok bool) {
	if a.Queues == nil {
		return at, false
	}
	for _, l := range a.limits { // any order: the smallest counts.
		if l.queue.Len() > 0 && l.full() && !l.reading && (!ok || l.next.Before(at)) {
			at, ok = l.next, true
		}
	}
	return at, ok
}
