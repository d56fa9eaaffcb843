package host

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Member is a long-running part of a process.
type Member struct {
	// Name is part of every error about the member.
	Name string
	// Run works until its context ends. It calls ready once, after which the next member may start; returning counts as
	// that call. An error stops the group; nil means that this member has finished.
	Run func(ctx context.Context, ready func()) error
	// Stop limits how long Run may take after its context has ended; 0 means ten seconds.
	Stop time.Duration
}

// defaultStop is the limit of members and cleanups that set none.
const defaultStop = 10 * time.Second

// errGroupStop is the cause of the end of a member's context.
var errGroupStop = errors.New("the group stops")

// runner is a running member.
type runner struct {
	Member
	cancel context.CancelCauseFunc
	ready  chan struct{}
	done   chan struct{} // Closed after err is written.
	err    error
}

// RunGroup starts members in order, each when the previous one is ready, and blocks. When the context ends or a member
// fails, it stops the started members in reverse order, one after the other, and returns all their errors joined. A panic
// of a member becomes its error. Errors that only report the end of the context are dropped. A member that exceeds its Stop
// is an error and is abandoned.
func RunGroup(ctx context.Context, members ...Member) error {
	var running []*runner
	failed := make(chan struct{}, len(members))
	for _, member := range members {
		r := start(ctx, member, failed)
		running = append(running, r)
		select {
		case <-r.ready:
			continue
		case <-r.done:
			if r.err == nil {
				continue
			}
		case <-failed:
		case <-ctx.Done():
		}
		return stopAll(running)
	}
	for _, r := range running {
		select {
		case <-r.done:
			if r.err == nil {
				continue
			}
		case <-failed:
		case <-ctx.Done():
		}
		break
	}
	return stopAll(running)
}

// start runs a member in a goroutine that ends with the member; stopAll waits for it.
func start(ctx context.Context, member Member, failed chan<- struct{}) *runner {
	// The context is detached, since members stop one after the other and not all at once.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &runner{Member: member, cancel: cancel, ready: make(chan struct{}, 1), done: make(chan struct{})}
	ready := func() {
		select {
		case r.ready <- struct{}{}:
		default: // A failure is already reported.
		}
	}
	go func() {
		defer close(r.done)
		err := guard(func() error { return member.Run(ctx, ready) })
		if err != nil && !errors.Is(context.Cause(ctx), errGroupStop) {
			failed <- struct{}{}
		} else if errors.Is(err, context.Canceled) {
			err = nil // It was asked to stop.
		}
		r.err = err
	}()
	return r
}

func stopAll(running []*runner) error {
	errs := make([]error, len(running))
	for i := len(running) - 1; i >= 0; i-- {
		r := running[i]
		r.cancel(errGroupStop)
		bound := r.Stop
		if bound == 0 {
			bound = defaultStop
		}
		timer := time.NewTimer(bound)
		select {
		case <-r.done:
			if r.err != nil {
				errs[i] = fmt.Errorf("%s: %w", r.Name, r.err)
			}
		case <-timer.C:
			errs[i] = fmt.Errorf("%s: did not stop within %s", r.Name, bound)
		}
		timer.Stop()
	}
	return errors.Join(errs...)
}
