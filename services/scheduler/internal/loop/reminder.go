package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// reminders ensures that every job with waiting work comes back if this scheduler dies, since no other scheduler knows of that
// work. For a while the job's deliveries stay open; then a timer is armed before they are acknowledged.
type reminders struct {
	*env
	acks *ackTracker
	work *workSet
}

// jobReminder is the timer of a job with waiting work.
type jobReminder struct {
	// armed is true while the timer is expected, according to the log, at the time at; wait is how long it was armed for.
	armed bool
	at    time.Time
	wait  time.Duration
}

// How soon a job with waiting work is examined again if nothing happens: the first interval and the longest.
const (
	firstTurn = 30 * time.Second
	lastTurn  = 8 * time.Minute
)

// turnPatience is how long work may wait before a timer is armed for it. Until then its deliveries stay unacknowledged and come
// again if this scheduler dies. Most waits are shorter, and each timer costs two messages and an examination of a job that may have
// ended. A job with more than maxKept deliveries gets its timer at once, since the consumer limits the number of open deliveries.
const (
	turnPatience = 2 * time.Second
	maxKept      = 64
)

// reset makes the next wait begin with the shortest interval.
func (r *jobReminder) reset() { r.wait = 0 }

// next returns the interval of the next timer: twice the last one, if that has fired.
func (r *jobReminder) next(now time.Time) time.Duration {
	wait := r.wait
	if !now.Before(r.at) {
		wait *= 2
	}
	return min(max(firstTurn, wait), lastTurn)
}

// arm arms the timers of the dirty jobs that need one, and waits for the acks.
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

// needed reports whether a job with waiting work has nothing else that brings it back.
func (r *reminders) needed(j *job) bool {
	if !j.late() || j.retry.pending() {
		return false
	}
	if j.reminder.armed {
		return !r.now.Before(j.reminder.at)
	}
	return !r.acks.keeps(&j.acks)
}
