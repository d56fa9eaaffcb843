package loop

import (
	"context"
	"sync"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// leaseWatch is an expert's view of the claim of its run.
type leaseWatch struct {
	run *run

	mu       sync.Mutex // Guards the fields below, and is held while watchers are called.
	next     int
	watchers map[int]func()
}

var _ expert.Claim = (*leaseWatch)(nil)

// Confirm implements expert.Claim. While the bus is away it waits, because an unreadable claim may be lost.
func (o *leaseWatch) Confirm(ctx context.Context) error {
	if hold := o.run.hold; hold != nil {
		return hold.Confirm(ctx)
	}
	return context.Cause(ctx)
}

// Renewed implements expert.Claim.
func (o *leaseWatch) Renewed(f func()) (stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watchers == nil {
		o.watchers = map[int]func(){}
	}
	id := o.next
	o.next++
	o.watchers[id] = f
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.watchers, id)
	}
}

// renewed notifies watchers that the runner has just kept the claim.
func (o *leaseWatch) renewed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.watchers { // any order: each is for a separate program.
		f()
	}
}
