package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

func TestStreamsThatMayNotBeListedAreARefusalAtOnce(t *testing.T) {
	_, some := restricted(t, make(lines, 99), "$JS.API.STREAM.NAMES")
	wantErr(t, some.Streams().Init(t.Context()), bus.ErrNotPermitted) // The context has no end: without the refusal the test would hang.
}

func TestAServiceThatMayNotCreateStreamsSaysOnceWhichItWaitsForAndStartsWhenTheyAreThere(t *testing.T) {
	log := make(lines, 999)
	all, some := restricted(t, log, "$JS.API.STREAM.CREATE.>")
	ready := make(chan error, 1)
	go func() { ready <- some.Streams().Prepare(t.Context()) }()
	for line := range log {
		if strings.Contains(line, "waiting for what this service may not create: JOBS_") && strings.Contains(line, "jobgraph init") {
			break
		}
	}
	noErr(t, all.Streams().Init(t.Context()))
	noErr(t, <-ready)
	for len(log) > 0 {
		if line := <-log; strings.Contains(line, "waiting for") {
			t.Errorf("it says again: %s", line)
		}
	}
}
