package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/adapter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
)

// pools takes the work of every pool with experts here. The goroutine of Run owns the running pools.
type pools struct {
	runner *runner
	// work ends when running work must be given back.
	work context.Context
	// wishes holds the newest windows by pool until Run takes them.
	wishes chan map[string]int
	// failed has room for the first error of a pool.
	failed   chan error
	underway map[string]*pool
	// batched are the pools whose batches are taken as well; opened holds a token when there is another one.
	batched sync.Map
	opened  chan struct{}
	// all are the goroutines of pools, including those that finish their last runs.
	all sync.WaitGroup
}

// pool is a pool from which this runner takes work.
type pool struct {
	// window is the number of messages in progress at once.
	window int
	// leave ends the intake; running work continues.
	leave context.CancelFunc
}

func newPools(work context.Context, r *runner) *pools {
	return &pools{runner: r, work: work, wishes: make(chan map[string]int, 1), failed: make(chan error, 1), opened: make(chan struct{}, 1), underway: map[string]*pool{}}
}

// want requests pools by their windows. Only the last request counts; calls must not overlap.
func (p *pools) want(windows map[string]int) {
	select {
	case <-p.wishes:
	default: // The last request was taken already.
	}
	p.wishes <- windows
}

// Run takes work until ctx ends, and returns when all of it is finished. It is ready when the first pools are read.
func (p *pools) Run(ctx context.Context, ready func()) error {
	defer p.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-p.failed:
			return err
		case windows := <-p.wishes:
			if err := p.change(ctx, windows); err != nil {
				return err
			}
			ready()
		}
	}
}

// change stops pools that are no longer requested and starts new ones.
func (p *pools) change(ctx context.Context, windows map[string]int) error {
	for name, has := range p.underway {
		if windows[name] != has.window {
			p.batched.Delete(name)
			has.leave()
			delete(p.underway, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		if p.underway[name] != nil {
			continue
		}
		if err := p.begin(ctx, name, windows[name]); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the work of a pool, single messages and batches.
func (p *pools) begin(ctx context.Context, name string, window int) error {
	source, err := adapter.OpenPool(ctx, p.runner.bus, name, p.runner.process.Log)
	if err != nil {
		return fmt.Errorf("pool %s: %w", name, err)
	}
	intake, leave := context.WithCancel(ctx)
	p.underway[name] = &pool{window: window, leave: leave}
	p.take(intake, name, source, window)
	batches, err := adapter.OpenBatches(ctx, p.runner.bus, name, p.runner.apart, p.runner.process.Log)
	switch {
	case errors.Is(err, bus.ErrNotPermitted):
		p.runner.process.Log.Info("not taking work in batches", "pool", name, "reason", err)
		return nil
	case err != nil:
		return fmt.Errorf("batches of pool %s: %w", name, err)
	}
	p.batched.Store(name, true)
	select {
	case p.opened <- struct{}{}:
	default: // A token is waiting already.
	}
	p.take(intake, name, batches, window)
	return nil
}

// takes reports whether batches of a pool are taken.
func (p *pools) takes(name string) bool {
	_, ok := p.batched.Load(name)
	return ok
}

// take runs the work of a source. Its goroutine ends when the pool is stopped or intake has ended, and its last run has ended.
func (p *pools) take(intake context.Context, name string, source loop.Source, window int) {
	p.all.Go(func() {
		if err := p.runner.loop.Run(p.work, intake, source, window); err != nil {
			select {
			case p.failed <- fmt.Errorf("pool %s: %w", name, err):
			default: // One is enough to end all.
			}
		}
	})
}
