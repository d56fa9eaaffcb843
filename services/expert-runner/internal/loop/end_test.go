package loop

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// renewing is the middle of the first renewal of a claim, if answers take half a second: it is stored already, but that is not
// known yet.
const renewing = 3500 * time.Millisecond

// lasts is an expert that fails after a while.
func lasts(d time.Duration) does {
	return func(ctx context.Context, _ *expert.Task) task.Ending {
		_ = lease.Pause(ctx, d) // The ending is the same.
		return task.Failure(events.CodeExecution, "exit status 1", "", "")
	}
}

// The next run, which the event of this one begins, must not find it open: the outcome of its command would be unknown.
func TestAReportBehindARenewalThatWasCutOffIsKeptBeforeItIsStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts(500 * time.Millisecond)
		l := w.loop(jobrun.Effect{Key: jobrun.Command, Name: jobrun.Command}, lasts(renewing))
		w.give(t.Context(), t, l, 1)
		w.give(t.Context(), t, l, 2)
		check(t, w,
			"claimed 1 10s", "subjob.started 1", "renewed 1 10s", "reported 1 0s", "subjob.reported 1",
			"claimed 2 10s", "subjob.started 2", "renewed 2 10s", "reported 2 0s", "subjob.reported 2",
		)
	})
}

// A success is stated beside its record; anything else begins another run, and is kept first.
func TestAReportThatTheJournalMissedIsKeptAllTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		run  does
		want []string
	}{
		"success": {func(context.Context, *expert.Task) task.Ending {
			return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
		}, []string{"claimed 1 10s", "subjob.reported 1", "reported 1 0s"}},
		"failure": {lasts(0), []string{"claimed 1 10s", "reported 1 0s", "subjob.reported 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts(time.Millisecond)
				missed := false
				w.Refuses = func(r events.JournalRecord) bool {
					first := r.Type == events.JournalReported && !missed
					missed = missed || first
					return first
				}
				w.give(t.Context(), t, w.loop(jobrun.Effect{}, c.run), 1)
				check(t, w, c.want...)
			})
		})
	}
}

// A failure or a question would end the run of its present owner. Only its own record tells this runner that it has lost the run.
func TestARunnerThatHasLostItsRunStatesNoFailure(t *testing.T) {
	park := func(context.Context, *expert.Task) task.Ending {
		return task.Ending{Park: &events.InputRequested{Kind: events.InputClarification, Request: "q", Prompt: "which?"}}
	}
	for name, run := range map[string]does{"failure": lasts(0), "question": park} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, closed %t", name, closed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newPorts(time.Millisecond)
					w.give(t.Context(), t, w.loop(jobrun.Effect{}, func(ctx context.Context, x *expert.Task) task.Ending {
						w.takenOver()
						if closed {
							w.Add(jobrun.Closed(1, "too long"))
						}
						return run(ctx, x)
					}), 1)
					check(t, w, "claimed 1 10s")
				})
			})
		}
	}
}

func TestAJournalThatStaysAwayHoldsUpNoReport(t *testing.T) {
	for _, d := range []time.Duration{0, renewing} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts(500 * time.Millisecond)
			w.Refuses = func(r events.JournalRecord) bool { return r.Type == events.JournalReported }
			began := time.Now()
			w.give(t.Context(), t, w.loop(jobrun.Effect{}, lasts(d)), 1)
			if last := w.lines[len(w.lines)-1]; last != "subjob.reported 1" || time.Since(began) > d+leaseTime {
				t.Errorf("a run of %s: %s after %s", d, last, time.Since(began))
			}
		})
	}
}

func TestARunThatIsLeftToOthersEndsItsLeaseBehindARenewalThatWasCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts(500 * time.Millisecond)
		work, kill := context.WithTimeout(t.Context(), renewing+w.Latency) // The claim took as long.
		defer kill()
		w.give(work, t, w.loop(jobrun.Effect{}, lasts(time.Minute)), 1)
		check(t, w, "claimed 1 10s", "subjob.started 1", "renewed 1 10s", "renewed 1 0s")
	})
}

// How far a program came that was ended from outside is unknown: it has not failed, and is not tried again unseen.
func TestAProgramThatWasCutOffIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		name string
		safe bool
		want []string
	}{
		{"may not be repeated", false, []string{"claimed 1 10s", "renewed 1 0s", "claimed 1 10s", "reported 1 0s", "input.requested 1"}},
		{"may be repeated", true, []string{"claimed 1 10s", "renewed 1 0s", "claimed 1 10s", "renewed 1 0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts(0)
				l := w.loop(jobrun.Effect{Key: jobrun.Command, Name: jobrun.Command, Safe: c.safe}, func(context.Context, *expert.Task) task.Ending {
					e := task.Failure(events.CodeExecution, "the program could not be run", "its keeper has ended it", "")
					e.Cut = "its keeper has ended it"
					return e
				})
				w.give(t.Context(), t, l, 1)
				w.give(t.Context(), t, l, 1)
				check(t, w, c.want...)
			})
		})
	}
}
