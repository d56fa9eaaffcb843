package loop

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// shortQueue is a source with a few messages, in order.
type shortQueue struct {
	mu   sync.Mutex // Guards list.
	list []queue.Delivery
}

func (q *shortQueue) Next(ctx context.Context, most int) ([]queue.Delivery, error) {
	q.mu.Lock()
	n := min(most, len(q.list))
	taken := q.list[:n]
	q.list = q.list[n:]
	q.mu.Unlock()
	if n == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return taken, nil
}

func (q *shortQueue) Stop() {}

// working runs the work of experts in order and returns which are at work once nothing moves. "call" waits for answers from
// elsewhere, "compute" does not.
func working(t *testing.T, concurrency, calls int, order ...string) (at []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newPorts(0)
		var mu sync.Mutex // Guards at.
		q := &shortQueue{}
		ctx, stop := context.WithCancel(t.Context())
		made := func(id string, calls bool) *expert.Expert {
			return &expert.Expert{Card: events.Card{ID: id, Pure: true}, Calls: calls, Runner: does(func(ctx context.Context, _ *expert.Task) task.Ending {
				mu.Lock()
				at = append(at, id)
				mu.Unlock()
				<-ctx.Done()
				return task.Failure(events.CodeExecution, "ended", "", "")
			})}
		}
		l := New(Settings{
			Names: events.NewNames(""), Owner: "me", Concurrency: concurrency, Calls: calls,
			Experts: map[string]*expert.Expert{"call": made("call", true), "compute": made("compute", false)},
			Journal: w, Log: w, Blobs: w, Meter: meter.New(metrics{}), Logger: slog.New(slog.DiscardHandler),
		})
		for i, id := range order {
			subject := l.Names.WorkFor(events.DefaultPool, id, "j", id, i+1)
			body := musttest.JSON(t, events.Work{Kind: events.WorkExecute, Job: "j", SubJob: id, Run: i + 1, Lease: events.Duration(leaseTime), Goal: "g"})
			q.list = append(q.list, queue.Delivery{Subject: subject, Body: body, Count: 1, Stored: time.Now(), Receipt: w})
		}
		ended := make(chan error)
		go func() { ended <- l.Run(ctx, ctx, q, concurrency) }() // Ends with ctx, below.
		synctest.Wait()
		mu.Lock()
		slices.Sort(at)
		at = slices.Clone(at)
		mu.Unlock()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return at
}

func TestCallsHavePlacesOfTheirOwn(t *testing.T) {
	for name, test := range map[string]struct {
		calls       int
		order, want []string
	}{
		"both kinds work at once":            {2, []string{"call", "call", "compute"}, []string{"call", "call", "compute"}},
		"no more calls than they have":       {2, []string{"call", "call", "call"}, []string{"call", "call"}},
		"what computes has none of theirs":   {2, []string{"compute", "compute"}, []string{"compute"}},
		"without their own they count alike": {0, []string{"call", "call", "compute"}, []string{"call"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := working(t, 1, test.calls, test.order...); !slices.Equal(got, test.want) {
				t.Errorf("%v are at work, want %v", got, test.want)
			}
		})
	}
}
