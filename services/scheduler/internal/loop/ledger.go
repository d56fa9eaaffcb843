package loop

import (
	"fmt"
	"time"
)

// receipt is a delivery that is not yet acknowledged.
type receipt struct {
	acker   Acker
	seq     uint64
	covered bool
	// told is when the consumer last heard of it, and tells how often it was told that it is in progress.
	told  time.Time
	tells int
}

// When the consumer is told that a delivery is in progress: well before it would deliver it again, which is after five seconds, some
// at a time, and not for ever: what cannot be saved here for a minute is better delivered to another scheduler.
const (
	tellAfter = 1250 * time.Millisecond
	mostTold  = 4096
	mostTells = 48
)

// ledger knows what was delivered and is not yet acknowledged.
type ledger struct {
	// open is how many are not acknowledged; covered are those that may be.
	open    int
	covered []*receipt
	// held are the open ones in the order in which the consumer last heard of them, from the index first on; some are covered.
	held  []*receipt
	first int
}

// add opens receipts for a batch, in its order.
func (l *ledger) add(now time.Time, deliveries []Delivery) []receipt {
	receipts := make([]receipt, len(deliveries))
	for i := range deliveries {
		receipts[i] = receipt{acker: deliveries[i].Acker, seq: deliveries[i].Event.Seq, told: now}
		l.held = append(l.held, &receipts[i])
	}
	l.open += len(receipts)
	return receipts
}

// cover says that a delivery may be acknowledged.
func (l *ledger) cover(r *receipt) {
	if !r.covered {
		r.covered = true
		l.covered = append(l.covered, r)
	}
}

// again puts a repeat of a delivery that is open into its place: one acknowledgement settles both. Its turn to be told stays, so that
// held keeps its order.
func (l *ledger) again(r, repeat *receipt) {
	r.acker, r.tells = repeat.acker, 0
	repeat.covered = true
	l.open--
}

// tell has the consumer wait on for what has been open for a while. A delivery that it is not told of comes again, which does no harm.
func (l *ledger) tell(now time.Time) error {
	var failed error
	for told := 0; l.first < len(l.held) && told < mostTold; {
		r := l.held[l.first]
		if !r.covered && now.Sub(r.told) < tellAfter {
			break
		}
		l.held[l.first] = nil
		l.first++
		if r.covered {
			continue
		}
		if r.tells < mostTells {
			if err := r.acker.InProgress(); err != nil {
				failed = fmt.Errorf("say that a delivery is in progress: %w", err)
			}
			told++
			r.tells++
		}
		r.told = now
		l.held = append(l.held, r)
	}
	if l.first > len(l.held)/2 { // Moves each one once on average.
		n := copy(l.held, l.held[l.first:])
		clear(l.held[n:])
		l.held, l.first = l.held[:n], 0
	}
	return failed
}

// ready reports whether settle has something to acknowledge.
func (l *ledger) ready() bool { return len(l.covered) > 0 }

// settle acknowledges what is covered. What fails comes again by itself.
func (l *ledger) settle() error {
	var failed error
	for _, r := range l.covered {
		if err := r.acker.Ack(); err != nil {
			failed = fmt.Errorf("acknowledge: %w", err)
		}
	}
	l.open -= len(l.covered)
	clear(l.covered)
	l.covered = l.covered[:0]
	return failed
}
