package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// In a cluster, one server may announce an end before the server that is asked for it has it.
func TestAnEndIsFoundThatCannotBeReadYetWhenItsNewsComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, told := 0, false
		last := func() (events.Event, error) {
			if looks++; looks < 3 {
				return events.Event{}, nil
			}
			return events.Event{Seq: 7, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}}, nil
		}
		next := func(ctx context.Context) (uint64, error) {
			if !told {
				told = true
				return 7, nil
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}
		begun := time.Now()
		ended, err := awaitEnd(t.Context(), 0, last, next)
		if err != nil || ended.Status != events.Finished {
			t.Fatalf("%+v, %v", ended, err)
		}
		if took := time.Since(begun); took > lookFirst {
			t.Errorf("found after %s", took)
		}
	})
}

func TestAWaitForAnEndLooksRarelyAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		looks := 0
		_, err := awaitEnd(ctx, 0, func() (events.Event, error) { looks++; return events.Event{}, nil }, func(ctx context.Context) (uint64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || looks > 140 {
			t.Errorf("%d looks in an hour, %v", looks, err)
		}
		lost := errors.New("lost")
		_, err = awaitEnd(t.Context(), 0, func() (events.Event, error) { return events.Event{}, nil }, func(context.Context) (uint64, error) { return 0, lost })
		if !errors.Is(err, lost) {
			t.Errorf("%v, want that of the listener", err)
		}
	})
}
