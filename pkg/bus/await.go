package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// retryAway is the delay of Await between two attempts.
const retryAway = 200 * time.Millisecond

// Await repeats f while its error is ErrUnavailable or ErrUnknown, for services that start while the bus is unstable. f
// must be safe to repeat. It returns the last error of f, which is one of these two only if ctx has ended.
func Await(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknown) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(retryAway)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Prepare creates streams, buckets and consumers, or checks them if it may not create them, and waits until the bus is
// available and has all of them. It is for services, which CheckSigned refuses. Errors: those of Init, Check and CheckSigned.
func (s Streams) Prepare(ctx context.Context) error {
	said := false
	return Await(ctx, func() error {
		err := s.Init(ctx)
		if errors.Is(err, ErrNotPermitted) {
			err = s.Check(ctx)
			if what, one := awaited(err); what != "" {
				if !said {
					said = true
					s.bus.logger.Warn("waiting for what this service may not create: "+what, "hint", one.Hint)
				}
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
		}
		if err == nil {
			err = s.CheckSigned(ctx)
		}
		return err
	})
}

// awaited names what does not exist, and one of its faults, if that is all that Check has found.
func awaited(err error) (string, events.Fault) {
	var faults events.Faults
	if !errors.As(err, &faults) {
		return "", events.Fault{}
	}
	names := make([]string, len(faults))
	for i, f := range faults {
		if f.Code != events.CodeNotFound {
			return "", f
		}
		names[i] = f.Field
	}
	return strings.Join(names, ", "), faults[0]
}
