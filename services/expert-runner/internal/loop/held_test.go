package loop

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

func TestARunIsListedFromItsDeliveryToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts(time.Millisecond)
		release := make(chan struct{})
		l := w.loop(jobrun.Effect{}, func(context.Context, *expert.Task) task.Ending {
			<-release
			return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
		})
		began := time.Now()
		var all sync.WaitGroup
		all.Go(func() { w.give(t.Context(), t, l, 1) })
		<-time.After(time.Second)
		one := Held{Job: "j", SubJob: "a", Expert: "x", Pool: events.DefaultPool, Run: 1, Since: began, Until: began.Add(leaseTime).UTC()}
		musttest.Equal(t, []Held{one}, l.Held(""))
		<-time.After(2 * leaseTime)
		held := l.Held("j")
		if len(held) != 1 || !held[0].Until.After(time.Now().Add(leaseTime/3)) || held[0].Until.After(time.Now().Add(leaseTime)) {
			t.Errorf("after %s: %+v", 2*leaseTime, held)
		}
		all.Go(func() { w.give(t.Context(), t, l, 2) }) // It waits for the only place.
		<-time.After(time.Second)
		if held := l.Held("j"); len(held) != 2 || held[0].Run != 1 || held[1].Run != 2 {
			t.Errorf("in hand: %+v", held)
		}
		if held := l.Held("other"); len(held) != 0 {
			t.Errorf("of another job: %+v", held)
		}
		close(release)
		all.Wait()
		if held := l.Held(""); len(held) != 0 {
			t.Errorf("after the end: %+v", held)
		}
	})
}

// Runs come, are claimed and end while they are listed.
func TestListingWaitsForNoRun(t *testing.T) {
	w := newPorts(0)
	l := w.loop(jobrun.Effect{}, func(context.Context, *expert.Task) task.Ending {
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success}}
	})
	done := make(chan struct{})
	var listing sync.WaitGroup
	seen := 0
	listing.Go(func() {
		for {
			seen += len(l.Held(""))
			select {
			case <-done:
				return
			default:
			}
		}
	})
	var runs sync.WaitGroup
	for n := range 8 {
		runs.Go(func() {
			for run := range 50 {
				job := string(rune('a' + n))
				body, err := json.Marshal(events.Work{Kind: events.WorkExecute, Job: job, SubJob: "a", Run: run + 1, Lease: events.Duration(leaseTime), Goal: "g"})
				if err != nil {
					t.Error(err)
				}
				l.handle(t.Context(), &queue.Delivery{Subject: l.Names.WorkFor(events.DefaultPool, "x", job, "a", run+1), Body: body, Count: 1, Stored: time.Now(), Receipt: w})
			}
		})
	}
	runs.Wait()
	close(done)
	listing.Wait()
	if l.Busy() != 0 || len(l.Held("")) != 0 {
		t.Errorf("%d runs are left", l.Busy())
	}
	t.Log("listed", seen)
}
