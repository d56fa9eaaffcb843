package host

import (
	"context"
	"errors"
	"os"
	"time"
)

// grace is how long the work may take to end when it has to end at once.
const grace = time.Second

// haste is the time limit of each cleanup that begins after the time limit of all cleanups has passed.
const haste = 50 * time.Millisecond

// Causes of the end of a process's contexts, for context.Cause.
var (
	// ErrDraining ended the intake: the first signal arrived.
	ErrDraining = errors.New("draining")
	// ErrDrainTimeout ended the work: draining took too long.
	ErrDrainTimeout = errors.New("drain timeout")
	// ErrInterrupted ended the work: the second signal arrived.
	ErrInterrupted = errors.New("interrupted")

	errRunEnded = errors.New("the program has ended")
)

// lifecycle ends intake and work according to signals.
type lifecycle struct {
	intake, work       context.Context
	endIntake, endWork context.CancelCauseFunc
	watched            chan struct{} // Closed when watch has returned.
}

func newLifecycle(ctx context.Context) *lifecycle {
	l := &lifecycle{watched: make(chan struct{})}
	l.work, l.endWork = context.WithCancelCause(ctx)
	l.intake, l.endIntake = context.WithCancelCause(l.work)
	return l
}

// watch waits for signals until the work has ended; Main runs it in a goroutine, and close waits for it. It calls draining
// between the first signal and the end of the intake.
func (l *lifecycle) watch(signals <-chan os.Signal, drain time.Duration, draining func(os.Signal)) {
	defer close(l.watched)
	select {
	case first := <-signals:
		draining(first)
		l.endIntake(ErrDraining)
	case <-l.work.Done():
		return
	}
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-signals:
		l.endWork(ErrInterrupted)
	case <-timer.C:
		l.endWork(ErrDrainTimeout)
	case <-l.work.Done():
	}
}

func (l *lifecycle) close() {
	l.endWork(errRunEnded)
	<-l.watched
}

// run calls f with the work context. After the context has ended, f has a short time to return.
func (l *lifecycle) run(f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- guard(func() error { return f(l.work) }) }() // Waited for below, or abandoned at the end of the process.
	select {
	case err := <-done:
		return l.judge(err)
	case <-l.work.Done():
	}
	bound := defaultStop
	if errors.Is(context.Cause(l.work), ErrInterrupted) {
		bound = grace
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case err := <-done:
		return l.judge(err)
	case <-timer.C:
		return errors.Join(errors.New("the program did not end in time"), l.judge(nil))
	}
}

// judge drops an error that only reports a requested end, and reports a second signal.
func (l *lifecycle) judge(err error) error {
	if l.intake.Err() != nil && onlyCanceled(err) {
		err = nil
	}
	if cause := context.Cause(l.work); errors.Is(cause, ErrInterrupted) {
		return errors.Join(cause, err)
	}
	return err
}

// onlyCanceled reports whether an error, and each error joined in it, only says that a context has ended.
func onlyCanceled(err error) bool {
	if err == nil {
		return true
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			if !onlyCanceled(one) {
				return false
			}
		}
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrDraining) ||
		errors.Is(err, ErrDrainTimeout) || errors.Is(err, ErrInterrupted)
}
