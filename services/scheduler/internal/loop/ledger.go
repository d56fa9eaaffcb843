package loop

import "fmt"

// receipt is a delivery that is not yet acknowledged.
type receipt struct {
	acker   Acker
	seq     uint64
	covered bool
}

// ledger knows what was delivered and is not yet acknowledged.
type ledger struct {
	// open is how many are not acknowledged; covered are those that may be.
	open    int
	covered []*receipt
}

// add opens receipts for a batch, in its order.
func (l *ledger) add(deliveries []Delivery) []receipt {
	receipts := make([]receipt, len(deliveries))
	for i := range deliveries {
		receipts[i] = receipt{acker: deliveries[i].Acker, seq: deliveries[i].Event.Seq}
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
