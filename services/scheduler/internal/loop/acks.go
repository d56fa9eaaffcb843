package loop

import (
	"fmt"
	"time"
)

// unacked is a delivery that is not yet acknowledged.
type unacked struct {
	acker Acker
	seq   uint64
	// marked is true when it may be acknowledged.
	marked bool
	// told is when the consumer last learned that the delivery is in progress, and tells how often.
	told  time.Time
	tells int
}

// Intervals of in-progress messages: well before redelivery, which happens after five seconds; a limited number at a time; and not
// for ever, since a delivery that cannot be saved here within a minute should go to another scheduler.
const (
	tellAfter = 1250 * time.Millisecond
	maxTold   = 4096
	maxTells  = 48
)

// ackTracker owns the unacknowledged deliveries. A delivery is acknowledged when a saved state covers its event; until then the
// consumer is told that it is in progress.
type ackTracker struct {
	*env
	// open is the number of unacknowledged deliveries; marked are those that may be acknowledged.
	open   int
	marked []*unacked
	// held are the open deliveries, ordered by the time of their last in-progress message; some are marked.
	held []*unacked
	// last is the consumer's sequence of the last delivery; 0 before the first. seen is the last event of all deliveries.
	last, seen uint64
}

// jobAcks is what the ack tracker knows of one job.
type jobAcks struct {
	// open are the deliveries that no save covers yet.
	open []*unacked
	// checked is how many of them are known to be newer than the save up to checkedSeq.
	checked    int
	checkedSeq uint64
	// kept is the time since which deliveries are kept open although a save covers them, because work of the job waits; zero if
	// they are not.
	kept time.Time
}

// gap reports whether another scheduler got a delivery since the last batch, or within this one.
func (a *ackTracker) gap(deliveries []Delivery) bool {
	gap := false
	for i := range deliveries {
		seq := deliveries[i].ConsumerSeq
		gap = gap || a.last != 0 && seq != a.last+1
		a.last = seq
		a.seen = max(a.seen, deliveries[i].Event.Seq)
	}
	return gap
}

// add keeps track of the deliveries of a batch, and returns them in the same order.
func (a *ackTracker) add(deliveries []Delivery) []unacked {
	list := make([]unacked, len(deliveries))
	for i := range deliveries {
		list[i] = unacked{acker: deliveries[i].Acker, seq: deliveries[i].Event.Seq, told: a.now}
		a.held = append(a.held, &list[i])
	}
	a.open += len(list)
	return list
}

// full reports whether so much is unacknowledged that everything should be saved.
func (a *ackTracker) full() bool { return a.open >= a.MaxOpen }

// markAcked marks a delivery for acknowledgement.
func (a *ackTracker) markAcked(d *unacked) {
	if !d.marked {
		d.marked = true
		a.marked = append(a.marked, d)
	}
}

// markAll marks all open deliveries of a job.
func (a *ackTracker) markAll(j *jobAcks) {
	for _, d := range j.open {
		a.markAcked(d)
	}
	j.open = nil
}

// markCovered marks the deliveries of a job that its saved state covers, up to a sequence; all marks every one. Deliveries that
// were checked against the same save are not checked again.
func (a *ackTracker) markCovered(j *jobAcks, saved uint64, all bool) {
	from := 0
	if !all && saved == j.checkedSeq {
		from = min(j.checked, len(j.open))
	}
	open := j.open[:from]
	for _, d := range j.open[from:] {
		if all || d.seq <= saved {
			a.markAcked(d)
			continue
		}
		open = append(open, d)
	}
	clear(j.open[len(open):])
	j.open, j.checked, j.checkedSeq = open, len(open), saved
}

// cover marks the deliveries of a job that its saved state covers.
func (a *ackTracker) cover(j *job) {
	if j.loading() {
		return // It is unknown which commands the saved state still has pending.
	}
	if !j.acks.kept.IsZero() {
		if j.phase != ready || j.late() || j.retry.pending() {
			return
		}
		j.acks.keepNoLonger()
	}
	a.markCovered(&j.acks, j.save.seq, j.clean())
}

// merge replaces an open delivery by its repeat, and reports whether there was one: one acknowledgement settles both. The time of
// its last in-progress message stays, so that held keeps its order.
func (a *ackTracker) merge(j *jobAcks, repeat *unacked) bool {
	for _, d := range j.open {
		if d.seq == repeat.seq && !d.marked {
			d.acker, d.tells = repeat.acker, 0
			repeat.marked = true
			a.open--
			return true
		}
	}
	return false
}

// keep keeps the deliveries of a job open although a save covers them: they bring the job back if this scheduler dies.
func (a *ackTracker) keep(j *jobAcks) {
	if j.kept.IsZero() {
		j.kept = a.now
	}
}

// keeps reports whether the deliveries of a waiting job are kept open, and still suffice.
func (a *ackTracker) keeps(j *jobAcks) bool {
	if len(j.open) == 0 || len(j.open) > maxKept || a.open > a.MaxOpen/2 {
		return false
	}
	a.keep(j)
	return a.now.Sub(j.kept) < turnPatience
}

// keepNoLonger allows the deliveries of a job to be acknowledged as far as a save covers them.
func (j *jobAcks) keepNoLonger() {
	if !j.kept.IsZero() {
		j.kept, j.checked = time.Time{}, 0
	}
}

// tellInProgress sends in-progress messages for deliveries that have been open for a while. A delivery without one is delivered
// again, which is harmless.
func (a *ackTracker) tellInProgress() error {
	var failed error
	for told := 0; len(a.held) > 0 && told < maxTold; {
		d := a.held[0]
		if !d.marked && a.now.Sub(d.told) < tellAfter {
			break
		}
		a.held[0] = nil
		a.held = a.held[1:]
		if d.marked {
			continue
		}
		if d.tells < maxTells {
			if err := d.acker.InProgress(); err != nil {
				failed = fmt.Errorf("say that a delivery is in progress: %w", err)
			}
			told++
			d.tells++
		}
		d.told = a.now
		a.held = append(a.held, d)
	}
	return failed
}

// flush sends in-progress messages, and acknowledges what is marked. Failures cause redelivery. The error is the hook's.
func (a *ackTracker) flush() error {
	if err := a.tellInProgress(); err != nil {
		a.Logger.Warn("cannot report deliveries as in progress", "error", err)
	}
	if len(a.marked) == 0 {
		return nil
	}
	if err := a.at(AtAck); err != nil {
		return err
	}
	var failed error
	for _, d := range a.marked {
		if err := d.acker.Ack(); err != nil {
			failed = err
		}
	}
	a.open -= len(a.marked)
	clear(a.marked)
	a.marked = a.marked[:0]
	if failed != nil {
		a.Logger.Warn("cannot acknowledge deliveries; they will be redelivered", "error", fmt.Errorf("acknowledge: %w", failed))
	}
	return a.at(AtAcked)
}
