package loop

import (
	"context"
	"sync"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// lookout is what an expert sees of the claim of its run.
type lookout struct {
	run *run

	mu       sync.Mutex // Guards the fields below, and is held while watchers are called.
	next     int
	watchers map[int]func()
}

var _ expert.Claim = (*lookout)(nil)

// Confirm implements expert.Claim. While the bus is away it waits: a claim that cannot be read may be lost.
func (o *lookout) Confirm(ctx context.Context) error {
	if hold := o.run.hold; hold != nil {
		return hold.Confirm(ctx)
	}
	return context.Cause(ctx)
}

// Renewed implements expert.Claim.
func (o *lookout) Renewed(f func()) (stop func()) {
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

// renewed says that the runner was able to keep the claim just now.
func (o *lookout) renewed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.watchers { // any order: each is about a program of its own.
		f()
	}
}
