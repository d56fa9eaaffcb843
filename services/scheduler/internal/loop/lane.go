package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
)

// lane is one pool: how much of its work is in the queue, and who waits until there is room. All of it is memory: after a
// restart the jobs owe their work again, and come here again.
type lane struct {
	window
	pool string
	line fair.Line
}

// pace fits the windows of all pools to what their workers take.
func (p *Partition) pace() {
	for _, l := range p.lanes { // any order: lanes have nothing in common.
		l.pace(p.now, l.line.Len() > 0)
	}
}

// reading is what a reading of a pool's queue has brought.
type reading struct {
	lane  *lane
	depth Depth
	err   error
}

// measure begins a reading of each queue that is due for one, in a goroutine that ends with the answer.
func (p *Partition) measure(ctx context.Context) {
	if p.Queues == nil {
		return
	}
	for _, l := range p.lanes { // any order: lanes have nothing in common.
		if !l.due(p.now, l.line.Len() > 0) {
			continue
		}
		l.ask()
		p.measuring++
		go func() {
			r := reading{lane: l}
			r.depth, r.err = p.Queues.Depth(ctx, l.pool)
			p.measured <- r // Taken by the loop, or by awaitAll.
		}()
	}
}

// measures takes a reading over, and goes on with the jobs that it makes room for.
func (p *Partition) measures(ctx context.Context, r reading) error {
	p.measuring--
	r.lane.read(time.Now(), r.depth, r.err)
	return p.take(ctx, Batch{})
}

// nextReading is when the first reading of a queue is due; ok is false when none is.
func (p *Partition) nextReading() (at time.Time, ok bool) {
	if p.Queues == nil {
		return at, false
	}
	for _, l := range p.lanes { // any order: the smallest counts.
		if l.line.Len() > 0 && l.full() && !l.reading && (!ok || l.next.Before(at)) {
			at, ok = l.next, true
		}
	}
	return at, ok
}

// use is what a job has in a lane.
type use struct {
	lane            *lane
	queued, running int
}

// How soon a job with work that waits is looked at again although nothing happens: the first time, and at most. It is for the
// case that this scheduler dies, since nobody else knows of the wait.
const (
	firstTurn = 30 * time.Second
	lastTurn  = 8 * time.Minute
)

// turnPatience is how long work may wait before a timer is armed for it. Until then the deliveries that it came from stay
// unacknowledged: they come again if this scheduler dies. Most waits are shorter, and each timer is two messages and a look at a job
// that may have ended long ago.
// A job with more than mostGuarded of them has its timer at once, since the consumer has only so many out.
const (
	turnPatience = 2 * time.Second
	mostGuarded  = 64
)

// pending is what a job owes and may publish now. Without a window that is everything.
func (p *Partition) pending(j *job) []graph.Command {
	if p.Window == 0 {
		return j.state.Pending()
	}
	p.gated = j
	return j.state.PendingWithin(p.gate)
}

// admits is the gate: a run goes into its pool's queue while that is short, and nobody waits for the same.
func (p *Partition) admits(pool string) bool {
	u := p.use(p.gated, pool)
	if u.lane.full() || u.lane.line.Len() > 0 {
		p.refused = true
		return false
	}
	u.lane.enter(p.now, 1)
	u.queued++
	return true
}

// use is what a job has in the lane of a pool; nothing at first.
func (p *Partition) use(j *job, pool string) *use {
	for i := range j.uses {
		if j.uses[i].lane.pool == pool {
			return &j.uses[i]
		}
	}
	l := p.lanes[pool]
	if l == nil {
		l = &lane{pool: pool, window: newWindow(p.Window, p.Queues != nil)}
		p.lanes[pool] = l
	}
	j.uses = append(j.uses, use{lane: l})
	return &j.uses[len(j.uses)-1]
}

// leaveLanes takes back what a job counts for: its state is not known any more, or over.
func (j *job) leaveLanes() {
	for i := range j.uses {
		j.uses[i].lane.drop(j.uses[i])
	}
	j.uses = nil
}

// tally brings the lanes up to date with a job, and puts it in line where work of it stays behind.
func (p *Partition) tally(ctx context.Context, j *job) {
	if p.Window == 0 || j.state == nil {
		return
	}
	j.behind = false
	for _, has := range j.state.Lanes {
		u := p.use(j, has.Pool)
		now := use{lane: u.lane, queued: has.Queued, running: has.Running}
		u.lane.change(p.now, *u, now)
		*u = now
		if has.Behind == 0 {
			continue
		}
		j.behind = true
		if !u.lane.line.Has(j.id) {
			t := p.ticket(ctx, j)
			t.Served = has.Queued+has.Running > 0
			u.lane.line.Join(t)
			p.Meter.Count(Lined, has.Pool)
		}
	}
	if !j.behind && !j.slotless {
		j.turnWait = 0
	}
}

// ticket says whose turns a job shares: those of its session, else of its user, else of all who have neither.
func (p *Partition) ticket(ctx context.Context, j *job) fair.Ticket {
	s := &j.state.State
	t := fair.Ticket{Job: j.id}
	switch {
	case s.Session != "":
		t.Group = "session " + s.Session
	case s.User != "":
		t.Group = "user " + s.User
	}
	if r, err := p.requested(ctx, j); err == nil { // Without it the work could not be written either, which says so.
		t.Priority = r.Request.Priority
	}
	return t
}

// takeTurns lets through what there is room for behind the jobs that have just published, until nobody waits, or the queues
// are full, or something cannot be published.
func (p *Partition) takeTurns(ctx context.Context) error {
	if !p.refused && !p.anybodyWaits() {
		return p.remember(ctx)
	}
	p.pace()
	for {
		trouble := false
		for _, j := range p.touched {
			p.tally(ctx, j)
			trouble = trouble || j.owing
		}
		if trouble {
			break
		}
		list, err := p.refill(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		if err := p.depart(ctx, list); err != nil {
			return err
		}
	}
	return p.remember(ctx)
}

func (p *Partition) anybodyWaits() bool {
	for _, l := range p.lanes { // any order: one is enough.
		if l.line.Len() > 0 {
			return true
		}
	}
	return false
}

// refill lets those through whose turn it is, as long as there is room, and gives the jobs that have something to publish now.
func (p *Partition) refill(ctx context.Context) (list []*job, err error) {
	for _, l := range p.lanes { // any order: lanes have nothing in common.
		for !l.full() && len(p.toLoad) < mostLoads {
			id, ok := l.line.Next()
			if !ok {
				break
			}
			j, err := p.summon(ctx, l, id)
			if err != nil {
				return list, err
			}
			if j == nil {
				continue
			}
			j.release(l)
			if j.moved && !j.called && !j.flying {
				j.called, j.moved = true, false
				list = append(list, j)
			}
			p.tally(ctx, j)
		}
	}
	for _, j := range list {
		j.called = false
	}
	return list, nil
}

// release lets one run of a job through in a lane, whose turn it is.
func (j *job) release(l *lane) {
	released := j.state.Release(l.pool, 1)
	j.moved = j.moved || released > 0
}

// summon gives a job that has its turn in a lane; nil when it is no more, or left alone, or in trouble that it comes back from by
// itself. One that is not in memory is loaded first, and has its turn then.
func (p *Partition) summon(ctx context.Context, l *lane, id string) (*job, error) {
	j := p.jobs[id]
	if j == nil {
		j = &job{id: id}
		p.jobs[id] = j
	}
	p.touch(j)
	switch {
	case j.owing || j.fault != nil || j.flying && j.state == nil:
		return nil, nil
	case j.state != nil:
		return j, nil
	}
	if !j.loading {
		if err := p.load(ctx, j); err != nil {
			return nil, err
		}
	}
	j.turnsDue = append(j.turnsDue, l)
	p.use(j, l.pool).queued++ // So that it counts, until it is known what the job has.
	l.enter(p.now, 1)
	return nil, nil
}

// remember sees to it that every job with work that waits is brought back were this scheduler to die: nothing else would. For a while
// its deliveries are kept, then a timer is armed before they are acknowledged.
func (p *Partition) remember(ctx context.Context) error {
	var armed []*job
	var acks []Ack
	for _, j := range p.touched {
		if !j.late() || j.owing {
			continue
		}
		early := p.now.Before(j.turnAt)
		if j.armed && early {
			continue
		}
		if p.guards(j) {
			continue
		}
		if err := p.at(AtPublish); err != nil {
			return err
		}
		armed = append(armed, j)
		acks = append(acks, p.Alarms.Arm(ctx, j.id, graph.TurnTimer(), p.now.Add(j.nextTurnWait(early))))
	}
	for i, j := range armed {
		if _, err := acks[i].Wait(ctx); err != nil {
			p.postpone(j, err)
			continue
		}
		j.turnWait = j.nextTurnWait(p.now.Before(j.turnAt))
		j.armed, j.turnAt = true, p.now.Add(j.turnWait)
		j.unguard()
	}
	return nil
}

// nextTurnWait is how long the next timer is armed for: twice as long as the last one, if that has come.
func (j *job) nextTurnWait(early bool) time.Duration {
	wait := j.turnWait
	if !early {
		wait *= 2
	}
	return min(max(firstTurn, wait), lastTurn)
}

// guards reports whether the deliveries of a job that is late are kept, and are still enough.
func (p *Partition) guards(j *job) bool {
	if j.armed || len(j.unacked) == 0 || len(j.unacked) > mostGuarded || p.ledger.open > p.MaxOpen/2 {
		return false
	}
	if !j.guarded {
		j.guarded, j.lateSince = true, p.now
	}
	return p.now.Sub(j.lateSince) < turnPatience
}

// unguard lets the deliveries of a job go, as far as a save covers them.
func (j *job) unguard() {
	if j.guarded {
		j.guarded, j.looked = false, 0
	}
}
