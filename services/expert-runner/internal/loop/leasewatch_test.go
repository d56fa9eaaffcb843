package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/run/lease/leasetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// begins is an expert whose effect begins when its claim is confirmed; it counts how often.
func begins(before func(), begun *int) does {
	return func(ctx context.Context, t *expert.Task) task.Ending {
		before()
		if err := t.Confirm(ctx); err != nil {
			return task.Failure(events.CodeExecution, err.Error(), "", "")
		}
		*begun++
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
	}
}

// The message that cancels a run may be late, or lost: the journal is what counts.
func TestAnEffectDoesNotBeginOnceItsRunWasClosedOrTakenOver(t *testing.T) {
	tests := map[string]struct {
		record *events.JournalRecord
		begun  int
		last   string
	}{
		"nothing has happened": {nil, 1, "subjob.reported 1"},
		"closed":               {&events.JournalRecord{Type: events.JournalClosed, Run: 1, Reason: "stopped"}, 0, "subjob.reported 1"},
		"taken over":           {&events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "another"}, 0, "claimed 1 0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, begun := newPorts(0), 0
				w.give(t.Context(), t, w.loop(jobrun.Effect{}, begins(func() {
					if test.record != nil {
						w.Append("j", "a", *test.record, 1)
					}
				}, &begun)), 1)
				if begun != test.begun {
					t.Errorf("begun %d times, want %d", begun, test.begun)
				}
				if last := w.lines[len(w.lines)-1]; last != test.last {
					t.Errorf("the last is %s, want %s", last, test.last)
				}
			})
		})
	}
}

func TestALookAtTheClaimWaitsForTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, begun := newPorts(0), 0
		w.Unread = 5
		w.give(t.Context(), t, w.loop(jobrun.Effect{}, begins(func() {}, &begun)), 1)
		if w.Unread != 0 || begun != 1 {
			t.Errorf("begun %d times, %d readings to go", begun, w.Unread)
		}
	})
}

func TestWhoWatchesAClaimHearsOfItsRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts(0)
		var heard, after int
		w.give(t.Context(), t, w.loop(jobrun.Effect{}, func(ctx context.Context, t *expert.Task) task.Ending {
			stop := t.Claim.Renewed(func() { heard++ })
			_ = lease.Pause(ctx, 2*leaseTime)
			stop()
			after = heard
			_ = lease.Pause(ctx, 2*leaseTime)
			return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
		}), 1)
		if heard < 5 || after != heard {
			t.Errorf("heard of %d renewals, and of %d more", after, heard-after)
		}
	})
}

// A run without a claim is kept by the process that is at it.
func TestARunWithoutAClaimIsKeptByItsPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, heard := newPorts(0), 0
		l := w.loop(jobrun.Effect{}, func(ctx context.Context, t *expert.Task) task.Ending {
			defer t.Claim.Renewed(func() { heard++ })()
			_ = lease.Pause(ctx, time.Minute)
			return task.Failure(events.CodeExecution, errors.Join(t.Confirm(ctx), leasetest.ErrAway).Error(), "", "")
		})
		l.Experts["x"].Card.Pure = true
		w.give(t.Context(), t, l, 1)
		if heard < 10 {
			t.Errorf("heard %d signs of life", heard)
		}
	})
}
