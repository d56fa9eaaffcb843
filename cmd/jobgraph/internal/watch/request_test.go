package watch_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// lastWrite keeps what was written last.
type lastWrite string

func (w *lastWrite) Write(p []byte) (int, error) {
	*w = lastWrite(p)
	return len(p), nil
}

func TestATreeSaysWhatAPersonIsAskedAndHowToAnswer(t *testing.T) {
	for _, test := range []struct {
		answered      bool
		width, height int
		want          []string
	}{
		{false, 80, 24, []string{"  … a  x  waits for q1", "  … b  x  waits for q2", "  ? How many boxes?", "  → jobgraph answer j q1 TEXT", "  ? May I?", "  → jobgraph approve|reject j q2"}},
		{true, 80, 24, []string{"  ▷ a  x", "  … b  x  waits for q2", "  ? May I?", "  → jobgraph approve|reject j q2"}},
		{false, 24, 10, []string{"  … a  x  waits for q1", "  … b  x  waits for q2", "  ? How many boxes?", "  → jobgraph answer j …", "  ? May I?", "  → jobgraph approve|r…"}},
	} {
		list := []events.Event{
			{Kind: events.KindJobRequested, Data: &events.JobRequested{
				Request: events.Request{Goal: "Count"},
				Rules:   events.Rules{Version: 1, MaxSteps: 10, MaxPlanRounds: 1, InputRounds: 5, FailurePolicy: events.FailFast, Finalize: "tails"},
			}},
			{Kind: events.KindGraphCreated, SubJob: "~plan", Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "Count", Expert: "x"}, {ID: "b", Goal: "Pay", Expert: "x"}}}}},
			{Kind: events.KindInputRequested, SubJob: "a", Run: 1, Data: &events.InputRequested{Request: "q1", Kind: events.InputClarification, Prompt: "How many\nboxes?"}},
			{Kind: events.KindInputRequested, SubJob: "b", Run: 1, Data: &events.InputRequested{Request: "q2", Kind: events.InputApproval, Prompt: "May I?"}},
		}
		if test.answered {
			list = append(list, events.Event{Kind: events.KindInputClosed, Key: "q1", Data: &events.InputClosed{Action: events.Answered, Answer: []byte(`"3"`)}})
		}
		for i := range list {
			list[i].Job, list[i].Seq, list[i].Time = "j", uint64(i+1), time.Unix(int64(i), 0)
		}
		var out lastWrite
		s := watch.Show{Out: &out, Form: watch.Tree, Size: func() (int, int, bool) { return test.width, test.height, true }, Now: func() time.Time { return time.Unix(10, 0) }}
		log := func(context.Context) iter.Seq2[events.Event, error] {
			return func(yield func(events.Event, error) bool) {
				for _, e := range list {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
		musttest.Do(t, s.Follow(t.Context(), log, joblog.New(), func() bool { return false }))
		text := string(out)
		if _, drawn, again := strings.Cut(text, "\r"); again {
			text = drawn // Drop the sequence that moves up to the previous tree.
		}
		text = strings.NewReplacer("\x1b[K", "", "\x1b[J", "").Replace(text)
		if diff := cmp.Diff(test.want, strings.Split(strings.TrimSuffix(text, "\n"), "\n")[1:]); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test, diff)
		}
	}
}
