package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/canvas"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/gateway/internal/history"
)

// logs holds the logs of jobs in memory, and counts what is read.
type logs struct {
	byJob map[string][]events.Event
	read  int
}

var errGone = errors.New("gone")

// Head implements history.Log.
func (l *logs) Head(_ context.Context, job string) (uint64, error) {
	list := l.byJob[job]
	if len(list) == 0 {
		return 0, errGone
	}
	return list[len(list)-1].Seq, nil
}

// Events implements history.Log.
func (l *logs) Events(_ context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for _, e := range l.byJob[job] {
			if e.Seq <= after {
				continue
			}
			l.read++
			if !yield(e, nil) {
				return
			}
		}
	}
}

// request is the first event of a job.
func request(job, goal string, seq uint64) events.Event {
	return events.Event{Seq: seq, Time: time.Unix(1, 0), Kind: events.KindJobRequested, Job: job, Data: &events.JobRequested{Request: events.Request{ID: job, Goal: goal}, Rules: events.Rules{Version: 1}}}
}

// goal returns the goal of a job according to the cache.
func goal(t *testing.T, c *history.Cache, job string) (text string) {
	t.Helper()
	musttest.Do(t, c.Use(t.Context(), job, func(now *canvas.Canvas) error { text = now.Graph().Goal; return nil }))
	return text
}

func TestALogIsReadOnce(t *testing.T) {
	l := &logs{byJob: map[string][]events.Event{"j": {request("j", "one", 1)}}}
	c := history.New(l)
	for range 3 {
		goal(t, c, "j")
	}
	if l.read != 1 {
		t.Errorf("%d events were read", l.read)
	}
}

// Sequences only grow, so the log of the new job begins after the end of the old one.
func TestAJobThatWasMadeAgainBetweenTwoLooksIsTheNewOne(t *testing.T) {
	l := &logs{byJob: map[string][]events.Event{"j": {request("j", "old", 1)}}}
	c := history.New(l)
	goal(t, c, "j")
	l.byJob["j"] = []events.Event{request("j", "new", 7)}
	if got := goal(t, c, "j"); got != "new" {
		t.Errorf("it shows the %s job", got)
	}
}

func TestWhatWasNotUsedForTheLongestTimeIsDropped(t *testing.T) {
	l := &logs{byJob: map[string][]events.Event{}}
	c := history.New(l)
	for i := range 65 {
		job := fmt.Sprintf("j%d", i)
		l.byJob[job] = []events.Event{request(job, "g", uint64(i+1))}
		goal(t, c, job)
		goal(t, c, "j0")
	}
	l.read = 0
	goal(t, c, "j0")
	goal(t, c, "j64")
	if l.read != 0 {
		t.Errorf("%d events of used jobs were read again", l.read)
	}
	if goal(t, c, "j1"); l.read != 1 {
		t.Errorf("j1 was kept: %d events read", l.read)
	}
}

func TestAFaultOfTheLogIsToldAndNothingIsKept(t *testing.T) {
	c := history.New(&logs{})
	if err := c.Use(t.Context(), "j", func(*canvas.Canvas) error { return nil }); !errors.Is(err, errGone) {
		t.Error(err)
	}
	bad := &logs{byJob: map[string][]events.Event{"j": {{Seq: 1, Kind: events.KindSubJobStarted, Job: "j"}}}}
	if err := history.New(bad).Use(t.Context(), "j", func(*canvas.Canvas) error { return nil }); err == nil {
		t.Error("a log that begins with no request")
	}
}
