package loop

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// pays is an expert with one effect that must not be repeated. Its result is too large for a record; calls counts.
func pays(calls *int) does {
	return func(ctx context.Context, t *expert.Task) task.Ending {
		_, err := t.Hand.Do(ctx, expert.Effect{Key: "pay", Name: "http"}, func(context.Context) (json.RawMessage, error) {
			*calls++
			return json.RawMessage(`"` + strings.Repeat("x", events.MaxInline) + `"`), nil
		})
		if err != nil {
			return task.Failure(events.CodeExecution, err.Error(), "", "")
		}
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
	}
}

func TestALargeResultWaitsForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, calls := newPorts(0), 0
		w.noBlobs = 10
		w.give(t.Context(), t, w.loop(jobrun.Effect{}, pays(&calls)), 1)
		check(t, w,
			"claimed 1 10s", "intent 1 0s", "subjob.started 1", "renewed 1 10s", "renewed 1 10s", "result 1 0s",
			"reported 1 0s", "subjob.reported 1",
		)
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestALargeResultWaitsNoLongerThanItsRun(t *testing.T) {
	tests := map[string]struct {
		end    func(w *ports, l *Loop, kill func())
		within time.Duration
		last   string
	}{
		"a stop ends it at once":   {func(_ *ports, l *Loop, _ func()) { l.Cancel("j", "", 0, "enough") }, 0, "subjob.reported 1"},
		"a process that ends, too": {func(_ *ports, _ *Loop, kill func()) { kill() }, 0, "renewed 1 0s"},
		"another runner's claim":   {func(w *ports, _ *Loop, _ func()) { w.takenOver() }, leaseTime, "renewed 1 10s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, calls := newPorts(0), 0
				w.noBlobs = 1_000_000
				l := w.loop(jobrun.Effect{}, pays(&calls))
				work, kill := context.WithCancel(t.Context())
				defer kill()
				done := make(chan time.Time)
				go func() {
					w.give(work, t, l, 1)
					done <- time.Now()
				}()
				<-time.After(time.Minute)
				test.end(w, l, kill)
				began := time.Now()
				if took := (<-done).Sub(began); took > test.within {
					t.Errorf("it took %s", took)
				}
				if last := w.lines[len(w.lines)-1]; last != test.last || calls != 1 {
					t.Errorf("%s after %d calls, want %s", last, calls, test.last)
				}
			})
		})
	}
}
