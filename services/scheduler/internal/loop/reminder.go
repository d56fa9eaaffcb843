package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// reminders sees to it that every job with work that waits is brought back were this scheduler to die: no other knows of the wait. For
// a while its deliveries are kept, then a timer is armed before they are acknowledged.
type reminders struct {
	*env
	acks *ackTracker
	work *workSet
}

// jobReminder is the timer of a job whose work waits.
type jobReminder struct {
	// armed is true while it comes, as far as the log tells, at the time at; wait is how long it was armed for.
	armed bool
	at    time.Time
	wait  time.Duration
}

// How soon a job with work that waits is looked at again although nothing happens: the first time, and at most.
const (
	firstTurn = 30 * time.Second
	lastTurn  = 8 * time.Minute
)

// turnPatience is how long work may wait before a timer is armed for it. Until then the deliveries that it came from stay
// unacknowledged: they come again if this scheduler dies. Most waits are shorter, and each timer is two messages and a look at a job
// that may have ended long ago.
// A job with more than maxKept of them has its timer at once, since the consumer has only so many out.
const (
	turnPatience = 2 * time.Second
	maxKept      = 64
)

// reset has the next wait begin with the shortest timer.
func (r *jobReminder) reset() { r.wait = 0 }

// next is how long the next timer is armed for: twice as long as the last one, if that has come.
func (r *jobReminder) next(now time.Time) time.Duration {
	wait := r.wait
	if !now.Before(r.at) {
		wait *= 2
	}
	return min(max(firstTurn, wait), lastTurn)
}

// arm arms the timers of those of the dirty jobs that need one, and waits for them.
func (r *reminders) arm(ctx context.Context) error {
	var armed []*job
	var acks []Ack
	for _, j := range r.work.dirty {
		if !r.needed(j) {
			continue
		}
		if err := r.at(AtPublish); err != nil {
			return err
		}
		armed = append(armed, j)
		acks = append(acks, r.Alarms.Arm(ctx, j.id, graph.TurnTimer(), r.now.Add(j.reminder.next(r.now))))
	}
	for i, j := range armed {
		if _, err := acks[i].Wait(ctx); err != nil {
			r.work.postpone(j, err)
			continue
		}
		wait := j.reminder.next(r.now)
		j.reminder = jobReminder{armed: true, at: r.now.Add(wait), wait: wait}
		j.acks.keepNoLonger()
	}
	return nil
}

// needed reports whether nothing brings a job back whose work waits.
func (r *reminders) needed(j *job) bool {
	if !j.late() || j.retry.pending() {
		return false
	}
	if j.reminder.armed {
		return !r.now.Before(j.reminder.at)
	}
	return !r.acks.keeps(&j.acks)
}
