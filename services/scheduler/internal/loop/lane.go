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
	pool string
	// queued counts runs in the queue that nobody works on, as far as the log tells.
	queued int
	line   fair.Line
	// most is how long the queue may be: about what the pool takes in a second. left counts runs that left it since the moment
	// from which that is reckoned.
	most  int
	left  int
	since time.Time
}

// How many runs a queue holds: at first, before anything is known of its pool, and at least, whatever that takes: enough to have
// the next one at hand, few enough that somebody who comes later has not long to wait for the first turn.
const (
	firstWindow = 256
	leastWindow = 64
)

// pace fits the queues to what their pools take, while somebody waits: one that is half empty at the beginning of a turn, or of
// which half was taken within a second, was too short; one that stood for a second is cut to what left it.
func (p *Partition) pace() {
	for _, l := range p.lanes { // any order: lanes have nothing in common.
		waits := l.line.Len() > 0
		switch stood := p.now.Sub(l.since); {
		case waits && (2*l.queued <= l.most || 2*l.left >= l.most && stood < time.Second):
			l.most = min(2*l.most, p.Window)
		case waits && stood < time.Second:
			continue
		case waits:
			taken := int(float64(l.left) / stood.Seconds())
			l.most = min(max(taken, leastWindow), p.Window)
		}
		l.left, l.since = 0, p.now
	}
}

// use is what a job has in a lane.
type use struct {
	lane   *lane
	queued int
}

// How soon a job with work that waits is looked at again although nothing happens: the first time, and at most. It is for the
// case that this scheduler dies, since nobody else knows of the wait.
const (
	firstTurn = 30 * time.Second
	lastTurn  = 8 * time.Minute
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
	if u.lane.queued >= u.lane.most || u.lane.line.Len() > 0 {
		p.refused = true
		return false
	}
	u.lane.queued++
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
		l = &lane{pool: pool, most: min(firstWindow, p.Window)}
		p.lanes[pool] = l
	}
	j.uses = append(j.uses, use{lane: l})
	return &j.uses[len(j.uses)-1]
}

// leaveLanes takes back what a job counts for: its state is not known any more, or over.
func (j *job) leaveLanes() {
	for i := range j.uses {
		j.uses[i].lane.queued -= j.uses[i].queued
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
		u.lane.queued += has.Queued - u.queued
		u.lane.left += max(0, u.queued-has.Queued)
		u.queued = has.Queued
		if has.Behind == 0 {
			continue
		}
		j.behind = true
		if !u.lane.line.Has(j.id) {
			u.lane.line.Join(p.ticket(ctx, j))
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
		return nil
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
		for l.queued < l.most {
			id, ok := l.line.Next()
			if !ok {
				break
			}
			j, err := p.summon(ctx, id)
			if err != nil {
				return list, err
			}
			if j == nil {
				continue
			}
			released := j.state.Release(l.pool, 1)
			j.moved = j.moved || released > 0
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

// summon gives a job that has its turn, loaded if it is not in memory; nil when it is no more, or left alone, or in trouble
// that it comes back from by itself.
func (p *Partition) summon(ctx context.Context, id string) (*job, error) {
	j := p.jobs[id]
	if j == nil {
		j = &job{id: id}
		p.jobs[id] = j
	}
	p.touch(j)
	if j.owing || j.fault != nil || j.flying && j.state == nil {
		return nil, nil
	}
	if j.state == nil {
		err := p.contain(ctx, j, func() error {
			if err := p.catchUp(ctx, j); err != nil || j.state == nil {
				return err
			}
			return p.claim(ctx, j)
		})
		if crashed(err) {
			return nil, err
		}
		if err != nil {
			j.forget()
			p.postpone(j, err)
			return nil, nil
		}
		if j.state == nil || j.fault != nil {
			return nil, nil
		}
		j.state.PendingWithin(func(string) bool { return false }) // Finds what is behind; what else is owed is owed still.
		j.moved = true
	}
	return j, nil
}

// remember arms a timer for every job with work that waits, before its events are acknowledged: were this scheduler to die
// then, nothing else would bring the job back.
func (p *Partition) remember(ctx context.Context) error {
	var armed []*job
	var acks []Ack
	for _, j := range p.touched {
		if !j.behind && !j.slotless || j.state == nil || j.owing || j.state.Status.Terminal() {
			continue
		}
		early := p.now.Before(j.turnAt)
		if j.armed && early {
			continue
		}
		if err := p.at(AtPublish); err != nil {
			return err
		}
		if !early {
			j.turnWait *= 2
		}
		j.turnWait = min(max(firstTurn, j.turnWait), lastTurn)
		armed = append(armed, j)
		acks = append(acks, p.Alarms.Arm(ctx, j.id, graph.TurnTimer(), p.now.Add(j.turnWait)))
	}
	for i, j := range armed {
		if _, err := acks[i].Wait(ctx); err != nil {
			p.postpone(j, err)
			continue
		}
		j.armed, j.turnAt = true, p.now.Add(j.turnWait)
	}
	return nil
}
