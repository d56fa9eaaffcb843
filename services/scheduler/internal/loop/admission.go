package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
)

// admission limits the work in the queues of pools, and decides whose work is next. It is held in memory only: after a restart the
// commands of the jobs are pending again, and wait here again.
type admission struct {
	*env
	beside  *beside
	builder *workBuilder
	limits  map[string]*queueLimit
}

// queueLimit limits the queue of one pool: how much work is in it, and which jobs wait.
type queueLimit struct {
	window
	pool  string
	queue fair.Queue
}

// use is a job's share of a pool's queue.
type use struct {
	limit           *queueLimit
	queued, running int
}

// jobLimits is a job's share of the queues of pools and its place in line.
type jobLimits struct {
	// uses are the job's shares of the queues of pools.
	uses []use
	// turns are the limits that reached the job's turn while its state was being loaded.
	turns []*queueLimit
}

// leave gives up the shares of a job whose state is no longer in memory, or that has ended.
func (l *jobLimits) leave() {
	for i := range l.uses {
		l.uses[i].limit.drop(l.uses[i])
	}
	l.uses = nil
}

// limit returns the limit of a pool, which it creates when the pool is new.
func (a *admission) limit(pool string) *queueLimit {
	l := a.limits[pool]
	if l == nil {
		l = &queueLimit{pool: pool, window: newWindow(a.env, a.Queues != nil)}
		a.limits[pool] = l
	}
	return l
}

// use returns a job's share of a pool's queue, initially empty.
func (a *admission) use(j *job, pool string) *use {
	for i := range j.limits.uses {
		if j.limits.uses[i].limit.pool == pool {
			return &j.limits.uses[i]
		}
	}
	j.limits.uses = append(j.limits.uses, use{limit: a.limit(pool)})
	return &j.limits.uses[len(j.limits.uses)-1]
}

// pending returns the commands of a job that may be published now. Without a window these are all.
func (a *admission) pending(j *job) []graph.Command {
	if a.Window == 0 {
		return j.state.Pending()
	}
	return j.state.PendingWithin(func(pool string) bool { return a.admits(j, pool) })
}

// admits decides whether a run of a job enters its pool's queue: only if the queue is short and no job waits for it.
func (a *admission) admits(j *job, pool string) bool {
	u := a.use(j, pool)
	if u.limit.full() || u.limit.queue.Len() > 0 {
		return false
	}
	u.limit.enter(a.now, 1)
	u.queued++
	return true
}

// count updates the limits for a job, and queues the job if some of its work has to wait.
func (a *admission) count(ctx context.Context, j *job) {
	if a.Window == 0 || j.state == nil {
		return
	}
	behind := false
	for _, has := range j.state.Lanes {
		u := a.use(j, has.Pool)
		limit, now := u.limit, use{limit: u.limit, queued: has.Queued, running: has.Running}
		limit.change(a.now, *u, now)
		*u = now
		if has.Behind == 0 {
			continue
		}
		behind = true
		if !limit.queue.Has(j.id) {
			item := a.item(ctx, j)
			item.Served = has.Queued+has.Running > 0
			limit.queue.Join(item)
			a.Meter.Count(Lined, has.Pool)
		}
	}
	if !behind && j.slots.claim != slotless {
		j.reminder.reset()
	}
}

// item returns a job as an item of the fair queue: it shares the turns of its session, otherwise of its user, otherwise of all jobs
// without either.
func (a *admission) item(ctx context.Context, j *job) fair.Item {
	s := &j.state.State
	t := fair.Item{Job: j.id}
	switch {
	case s.Session != "":
		t.Group = "session " + s.Session
	case s.User != "":
		t.Group = "user " + s.User
	}
	if r, _, err := a.builder.requested(ctx, j); err == nil { // An error is reported when the work is built.
		t.Priority = r.Request.Priority
	}
	return t
}

// waits reports whether any job waits in the queue of a pool.
func (a *admission) waits() bool {
	for _, l := range a.limits { // any order: one is enough.
		if l.queue.Len() > 0 {
			return true
		}
	}
	return false
}

// fit adapts the windows of all pools to the throughput of their workers.
func (a *admission) fit() {
	for _, l := range a.limits { // any order: pools are independent.
		l.pace(a.now, l.queue.Len() > 0)
	}
}

// promise counts a run of a job whose turn has come but whose state must be loaded first.
func (a *admission) promise(j *job, limit *queueLimit) {
	j.limits.turns = append(j.limits.turns, limit)
	a.use(j, limit.pool).queued++ // The run counts until the uses of the job are known.
	limit.enter(a.now, 1)
}

// release admits one run of a job whose turn has come in a limit.
func (j *job) release(limit *queueLimit) {
	released := j.state.Release(limit.pool, 1)
	j.changed = j.changed || released > 0
}

// takeTurns admits the runs whose turn came while the state of the job was loaded.
func (a *admission) takeTurns(j *job) {
	if len(j.limits.turns) == 0 {
		return
	}
	j.state.PendingWithin(func(string) bool { return false }) // This finds out what waits; other commands stay pending.
	for _, limit := range j.limits.turns {
		j.release(limit)
	}
}

// reading is the result of reading a pool's queue.
type reading struct {
	limit *queueLimit
	// asked is how many runs were in the window when the reading began.
	asked int
	depth Depth
	err   error
}

// measure starts to read each queue whose reading is due, in a goroutine that ends with the answer.
func (a *admission) measure(ctx context.Context) {
	if a.Queues == nil {
		return
	}
	for _, l := range a.limits { // any order: pools are independent.
		if !l.due(a.now, l.queue.Len() > 0) {
			continue
		}
		r := &reading{limit: l, asked: l.ask()}
		a.beside.begin(readings, func() result {
			r.depth, r.err = a.Queues.Depth(ctx, l.pool)
			return r
		})
	}
}

// nextReading is when the next reading of a queue is due; ok is false if none is.
func (a *admission) nextReading() (at time.Time, ok bool) {
	if a.Queues == nil {
		return at, false
	}
	for _, l := range a.limits { // any order: the smallest counts.
		if l.queue.Len() > 0 && l.full() && l.reading == notReading && (!ok || l.next.Before(at)) {
			at, ok = l.next, true
		}
	}
	return at, ok
}
