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
	// told is when the consumer last heard of it, and tells how often it was told that it is in progress.
	told  time.Time
	tells int
}

// When the consumer is told that a delivery is in progress: well before it would deliver it again, which is after five seconds, some
// at a time, and not for ever: what cannot be saved here for a minute is better delivered to another scheduler.
const (
	tellAfter = 1250 * time.Millisecond
	maxTold   = 4096
	maxTells  = 48
)

// ackTracker owns what was delivered and is not yet acknowledged. A delivery is acknowledged when a saved state covers its event,
// and until then the consumer is told that it is in progress.
type ackTracker struct {
	*env
	// open is how many are not acknowledged; marked are those that may be.
	open   int
	marked []*unacked
	// held are the open ones in the order in which the consumer last heard of them, from the index first on; some are marked.
	held  []*unacked
	first int
	// last is the consumer's sequence of the last delivery; 0 before the first. seen is the last event of all that were delivered.
	last, seen uint64
}

// jobAcks is what the ack tracker knows of one job.
type jobAcks struct {
	// open are the deliveries that a save has yet to cover.
	open []*unacked
	// checked is how many of them are known to lie behind the save up to checkedSeq.
	checked    int
	checkedSeq uint64
	// kept is since when they are kept although a save covers them, because work of the job waits; zero when they are not.
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

// add takes a batch up, in its order.
func (a *ackTracker) add(deliveries []Delivery) []unacked {
	list := make([]unacked, len(deliveries))
	for i := range deliveries {
		list[i] = unacked{acker: deliveries[i].Acker, seq: deliveries[i].Event.Seq, told: a.now}
		a.held = append(a.held, &list[i])
	}
	a.open += len(list)
	return list
}

// full reports whether so much is unacknowledged that everything ought to be saved.
func (a *ackTracker) full() bool { return a.open >= a.MaxOpen }

// markAcked says that a delivery may be acknowledged.
func (a *ackTracker) markAcked(d *unacked) {
	if !d.marked {
		d.marked = true
		a.marked = append(a.marked, d)
	}
}

// markAll says so of all that are open of a job.
func (a *ackTracker) markAll(j *jobAcks) {
	for _, d := range j.open {
		a.markAcked(d)
	}
	j.open = nil
}

// markCovered says so of those of a job that its saved state covers, up to a sequence; all is true when it covers every one. Those that
// were checked under the same save are not checked again.
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

// cover lets the deliveries of a job go that its saved state covers.
func (a *ackTracker) cover(j *job) {
	if j.loading() {
		return // What the kept state still owes is not known here.
	}
	if !j.acks.kept.IsZero() {
		if j.phase != ready || j.late() || j.retry.pending() {
			return
		}
		j.acks.keepNoLonger()
	}
	a.markCovered(&j.acks, j.save.seq, j.clean())
}

// merge takes a repeat of an event of a job that is open, and reports whether there was one: one acknowledgement settles both. Its turn
// to be told stays, so that held keeps its order.
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

// keep keeps the deliveries of a job although a save covers them: they bring it back if this scheduler dies.
func (a *ackTracker) keep(j *jobAcks) {
	if j.kept.IsZero() {
		j.kept = a.now
	}
}

// keeps reports whether the deliveries of a job that waits are kept, and are still enough.
func (a *ackTracker) keeps(j *jobAcks) bool {
	if len(j.open) == 0 || len(j.open) > maxKept || a.open > a.MaxOpen/2 {
		return false
	}
	a.keep(j)
	return a.now.Sub(j.kept) < turnPatience
}

// keepNoLonger lets the deliveries of a job go, as far as a save covers them.
func (j *jobAcks) keepNoLonger() {
	if !j.kept.IsZero() {
		j.kept, j.checked = time.Time{}, 0
	}
}

// tellInProgress has the consumer wait on for what has been open for a while. A delivery that it is not told of comes again, which
// does no harm.
func (a *ackTracker) tellInProgress() error {
	var failed error
	for told := 0; a.first < len(a.held) && told < maxTold; {
		d := a.held[a.first]
		if !d.marked && a.now.Sub(d.told) < tellAfter {
			break
		}
		a.held[a.first] = nil
		a.first++
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
	if a.first > len(a.held)/2 { // Moves each one once on average.
		n := copy(a.held, a.held[a.first:])
		clear(a.held[n:])
		a.held, a.first = a.held[:n], 0
	}
	return failed
}

// flush tells the consumer what is in progress, and acknowledges what is marked. What fails comes again by itself. The error is the
// hook's alone.
func (a *ackTracker) flush() error {
	if err := a.tellInProgress(); err != nil {
		a.Logger.Warn("the consumer was not told what is in progress", "error", err)
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
		a.Logger.Warn("deliveries were not acknowledged and will come again", "error", fmt.Errorf("acknowledge: %w", failed))
	}
	return a.at(AtAcked)
}
