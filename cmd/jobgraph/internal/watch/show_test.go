package watch_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// nasty is what a tool may answer and an error may repeat: clear the screen, set the title, reverse the direction of text, begin a
// new line.
const nasty = "gone \x1b[2J\x1b]0;owned\x07 \u009b31m \u202etxt.exe\r\njob FINISHED \x7f\xff end"

// Whatever a result, an error or a plan contains, a terminal receives only the control sequences of Show itself.
func TestNothingThatOthersHaveWrittenReachesTheTerminal(t *testing.T) {
	for name, form := range map[string]watch.Form{"lines": watch.Lines, "tree": watch.Tree, "JSON": watch.JSON} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			size := func() (int, int, bool) { return 80, 24, true }
			s := watch.Show{Out: &out, Form: form, Size: size, Now: func() time.Time { return time.Unix(10, 0) }}
			log := func(context.Context) iter.Seq2[events.Event, error] {
				seq := uint64(0)
				event := func(kind events.Kind, subjob string, run int, data any) events.Event {
					seq++
					return events.Event{Kind: kind, Job: "j", SubJob: subjob, Run: run, Seq: seq, Time: time.Unix(int64(seq), 0), Data: data}
				}
				list := []events.Event{
					event(events.KindJobRequested, "", 0, &events.JobRequested{
						Request: events.Request{Goal: "look at " + nasty},
						Rules:   events.Rules{Version: 1, MaxSteps: 10, MaxPlanRounds: 1, FailurePolicy: events.FailFast, Finalize: "tails"},
					}),
					event(events.KindGraphCreated, "~plan", 1, &events.GraphCreated{Plan: &events.Plan{
						Title: nasty, SubJobs: []events.SubJob{{ID: "a", Title: nasty, Goal: nasty, Expert: "x"}},
					}}),
					event(events.KindSubJobReported, "a", 1, &events.SubJobReported{
						Outcome: events.ExecutionError, Lesson: nasty, Error: &events.Fault{Code: events.CodeExecution, Message: nasty, Cause: nasty, Hint: nasty},
					}),
				}
				return func(yield func(events.Event, error) bool) {
					for _, e := range list {
						if !yield(e, nil) {
							return
						}
					}
				}
			}
			h := joblog.New()
			musttest.Do(t, s.Follow(t.Context(), log, h, func() bool { return h.Job.Status.Terminal() }))
			// A tree that was drawn before is drawn over: that is ours.
			text := strings.NewReplacer("\x1b[1A\r", "", "\x1b[2A\r", "", "\x1b[3A\r", "", "\x1b[K", "", "\x1b[J", "").Replace(out.String())
			if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && drawing.Obeyed(r) }); at >= 0 {
				t.Errorf("a terminal obeys %q in %q", text[at:min(at+12, len(text))], text)
			}
			if !strings.Contains(text, "gone ") || !strings.Contains(text, "txt.exe") {
				t.Errorf("the error is not shown: %q", text)
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "job FINISHED") {
					t.Errorf("a line of its own: %q", line)
				}
			}
		})
	}
}
