package loop

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// The bus is away for two leases in the middle of a run. The work is done once, and its result is used.
func TestARunOutlivesABusThatIsAwayBeyondItsLease(t *testing.T) {
	pay := func(ctx context.Context, t *expert.Task, begun *int, before, after time.Duration) task.Ending {
		out, err := t.Hand.Do(ctx, expert.Effect{Key: "pay", Name: "http"}, func(ctx context.Context) (json.RawMessage, error) {
			*begun++
			return json.RawMessage("1"), lease.Pause(ctx, before)
		})
		if err == nil {
			err = lease.Pause(ctx, after)
		}
		if err != nil {
			return task.Failure(events.CodeExecution, err.Error(), "", "")
		}
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: out}}
	}
	tests := map[string]struct{ before, after time.Duration }{
		"a call lasts longer":                {30 * time.Second, 0},
		"a call ends while it is away":       {10 * time.Second, 20 * time.Second},
		"the run would end while it is away": {10 * time.Second, time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, begun := newPorts(time.Millisecond), 0
				l := w.loop(jobrun.Effect{}, func(ctx context.Context, x *expert.Task) task.Ending {
					return pay(ctx, x, &begun, test.before, test.after)
				})
				time.AfterFunc(5*time.Second, func() { w.Away(20 * time.Second) })
				w.give(t.Context(), t, l, 1)
				w.Lock()
				defer w.Unlock()
				last := w.lines[max(0, len(w.lines)-2):]
				if !slices.Equal(last, []string{"reported 1 0s", "subjob.reported 1"}) || begun != 1 {
					t.Errorf("begun %d times: %q", begun, w.lines)
				}
				var got events.SubJobReported
				if err := json.Unmarshal(w.Entries[len(w.Entries)-1].Data, &got); err != nil || got.Outcome != events.Success {
					t.Errorf("%+v %v", got, err)
				}
			})
		})
	}
}

// A run that was taken over while the bus was away publishes nothing more.
func TestARunThatWasTakenOverWhileTheBusWasAwayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts(time.Millisecond)
		l := w.loop(jobrun.Effect{Key: jobrun.Command, Name: jobrun.Command}, func(ctx context.Context, _ *expert.Task) task.Ending {
			err := lease.Pause(ctx, time.Minute)
			if err == nil {
				t.Error("the program was left running")
			}
			return task.Failure(events.CodeExecution, "ended", "", "")
		})
		time.AfterFunc(5*time.Second, func() {
			w.Away(20 * time.Second)
			w.takenOver()
		})
		w.give(t.Context(), t, l, 1)
		if slices.Contains(w.lines, "subjob.reported 1") {
			t.Errorf("%q", w.lines)
		}
	})
}

// takenOver makes another runner claim the run.
func (w *ports) takenOver() {
	w.Add(events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "other", Lease: events.Duration(leaseTime)})
}

// When the bus comes back, a second runner does not take over before the first one has had time to renew its claim.
func TestAClaimThatCouldNotBeRenewedWhileTheBusWasAwayIsNotTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, begun := newPorts(time.Millisecond), 0
		runner := func(owner string) *Loop {
			l := w.loop(jobrun.Effect{Key: jobrun.Command, Name: jobrun.Command}, func(ctx context.Context, _ *expert.Task) task.Ending {
				begun++
				if err := lease.Pause(ctx, 30*time.Second); err != nil {
					return task.Failure(events.CodeExecution, err.Error(), "", "")
				}
				return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
			})
			l.Owner = owner
			return l
		}
		first, second := runner("first"), runner("second")
		time.AfterFunc(5*time.Second, func() { w.Away(20 * time.Second) })
		time.AfterFunc(25*time.Second, func() { w.give(t.Context(), t, second, 1) }) // As soon as the bus is back.
		w.give(t.Context(), t, first, 1)
		if begun != 1 || !slices.Contains(w.lines, "subjob.reported 1") {
			t.Errorf("begun %d times: %q", begun, w.lines)
		}
	})
}

// The record of a report is sent before the report itself, without waiting for it: of the two streams, the journals may lose it
// when servers die. A successor finds the report in the log.
func TestARunWhoseReportStandsInTheLogAloneIsNotTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, begun := newPorts(time.Millisecond), 0
		w.Refuses = func(r events.JournalRecord) bool { return r.Type == events.JournalReported }
		runner := func(owner string) *Loop {
			l := w.loop(jobrun.Effect{Key: jobrun.Command, Name: jobrun.Command, Safe: true}, func(context.Context, *expert.Task) task.Ending {
				begun++
				return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
			})
			l.Owner = owner
			return l
		}
		w.give(t.Context(), t, runner("first"), 1)
		<-time.After(2 * leaseTime)
		w.give(t.Context(), t, runner("second"), 1)
		if begun != 1 || !slices.Contains(w.lines, "subjob.reported 1") {
			t.Errorf("begun %d times: %q", begun, w.lines)
		}
	})
}
