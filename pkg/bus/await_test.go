package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

func TestAwaitTriesAgainOnlyWhileTheBusIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []error{fmt.Errorf("read: %w", bus.ErrUnavailable), fmt.Errorf("put: %w", bus.ErrUnknown), bus.ErrConflict, nil}
		tries := 0
		err := bus.Await(t.Context(), func() error { tries++; return answers[tries-1] })
		if !errors.Is(err, bus.ErrConflict) || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = bus.Await(ctx, func() error { cancel(); return bus.ErrUnavailable })
		if !errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("the context has ended: %v", err)
		}
	})
}
