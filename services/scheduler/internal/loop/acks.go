package loop

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// unacked is a delivery that is not yet acknowledged.
type unacked struct {
	// acker acknowledges it; nil once it may be acknowledged.
	acker Acker
	seq   uint64
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
	// open is the number of unacknowledged deliveries; marked are the ackers of those that may be acknowledged.
	open   int
	marked []Acker
	// held are the open deliveries, ordered by the time of their last in-progress message; some are marked.
	held []*unacked
	// last is the consumer's sequence of the last delivery; 0 before the first.
	last uint64
}

// jobAcks is what the ack tracker knows of one job.
type jobAcks struct {
	// open are the deliveries that no save covers yet, in the order of the log.
	open []*unacked
	// kept is the time since which deliveries are kept open although a save covers them, because work of the job waits; zero if
	// they are not.
	kept time.Time
}

// add keeps a delivery open. It comes after all others, unless it was delivered before.
func (j *jobAcks) add(d *unacked) {
	at := len(j.open)
	if at > 0 && j.open[at-1].seq > d.seq {
		at, _ = j.find(d.seq)
	}
	j.open = slices.Insert(j.open, at, d)
}

// find returns the place of an event among the open deliveries, and reports whether it is one of them.
func (j *jobAcks) find(seq uint64) (at int, open bool) {
	return slices.BinarySearchFunc(j.open, seq, func(d *unacked, seq uint64) int { return cmp.Compare(d.seq, seq) })
}

// gap reports whether another scheduler got a delivery since the last batch, or within this one.
func (a *ackTracker) gap(deliveries []Delivery) bool {
	gap := false
	for i := range deliveries {
		seq := deliveries[i].ConsumerSeq
		gap = gap || a.last != 0 && seq != a.last+1
		a.last = seq
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
	if d.acker != nil {
		a.marked = append(a.marked, d.acker)
		d.acker = nil
	}
}

// markAll marks all open deliveries of a job.
func (a *ackTracker) markAll(j *jobAcks) { a.markCovered(j, math.MaxUint64) }

// markCovered marks the deliveries of a job up to a sequence.
func (a *ackTracker) markCovered(j *jobAcks, seq uint64) {
	n := 0
	for ; n < len(j.open) && j.open[n].seq <= seq; n++ {
		a.markAcked(j.open[n])
	}
	j.open = slices.Delete(j.open, 0, n)
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
	if j.clean() {
		a.markAll(&j.acks)
		return
	}
	a.markCovered(&j.acks, j.save.seq)
}

// merge replaces an open delivery by its repeat, and reports whether there was one: one acknowledgement settles both. The time of
// its last in-progress message stays, so that held keeps its order.
func (a *ackTracker) merge(j *jobAcks, repeat *unacked) bool {
	at, open := j.find(repeat.seq)
	if !open {
		return false
	}
	d := j.open[at]
	d.acker, d.tells, repeat.acker = repeat.acker, 0, nil
	a.open--
	return true
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
func (j *jobAcks) keepNoLonger() { j.kept = time.Time{} }

// tellInProgress sends in-progress messages for deliveries that have been open for a while. A delivery without one is delivered
// again, which is harmless.
func (a *ackTracker) tellInProgress() error {
	var failed error
	for told := 0; len(a.held) > 0 && told < maxTold; {
		d := a.held[0]
		marked := d.acker == nil
		if !marked && a.now.Sub(d.told) < tellAfter {
			break
		}
		a.held[0] = nil
		a.held = a.held[1:]
		if marked {
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
	for _, acker := range a.marked {
		if err := acker.Ack(); err != nil {
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
