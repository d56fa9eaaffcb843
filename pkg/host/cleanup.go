package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// cleanups is a stack of functions to call at the end.
type cleanups struct {
	mu    sync.Mutex // Guards stack; not held while a cleanup runs.
	stack []cleanup
}

type cleanup struct {
	name  string
	bound time.Duration
	undo  func(context.Context) error
}

func (c *cleanups) add(name string, bound time.Duration, undo func(context.Context) error) {
	if bound <= 0 {
		bound = defaultStop
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stack = append(c.stack, cleanup{name: name, bound: bound, undo: undo})
}

func (c *cleanups) pop() (cleanup, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.stack) == 0 {
		return cleanup{}, false
	}
	top := c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
	return top, true
}

// run calls all cleanups, the last one first. An error or a panic in one does not stop the others.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for {
		top, more := c.pop()
		if !more {
			return errors.Join(errs...)
		}
		if err := top.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("clean up %s: %w", top.name, err))
		}
	}
}

// run calls the cleanup in a goroutine that ends with it, and stops waiting after the cleanup's bound.
func (c cleanup) run(outer context.Context) error {
	ctx, cancel := context.WithTimeout(outer, c.bound)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- guard(func() error { return c.undo(ctx) }) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	left := grace
	if outer.Err() != nil {
		left = haste // Others wait for their turn, and little time is left for all.
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case err := <-done: // It ended just in time, or because its context ended.
		return err
	case <-timer.C:
		return fmt.Errorf("not done in time, at most %s", c.bound)
	}
}
