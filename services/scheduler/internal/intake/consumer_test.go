package intake

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// slowLog stores nothing until it is released: it counts what is to be stored at once.
type slowLog struct {
	let chan struct{}

	mu sync.Mutex // Guards now.
	// now is how many requests are being stored.
	now int
}

// count adds to the number of requests being stored, and returns it.
func (l *slowLog) count(by int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now += by
	return l.now
}

func (l *slowLog) Publish(ctx context.Context, _ events.Message, _ bus.Expect) (uint64, error) {
	l.count(1)
	defer l.count(-1)
	select {
	case <-l.let:
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (l *slowLog) EventsOf(context.Context, string, uint64) iter.Seq2[events.Event, error] {
	return nil
}

type counts struct{}

func (counts) CountRequest(string) {}
func (counts) Waiting(int, int)    {}

// Requests are admitted side by side as long as they are small together, and one that ends makes room for the next.
func TestAsManyRequestsAreAdmittedAtOnceAsAreSmallTogether(t *testing.T) {
	for _, c := range []struct{ size, sent, first, second int }{
		{10, batchSize + 50, batchSize, batchSize},
		{300 << 10, 5, 3, 3},
		{470 << 10, 3, 2, 2},
	} {
		servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
			queue := musttest.Get(e.Bus.Queues().Consume(t.Context(), e.Bus.Queues().IntakeConsumer()))(t)
			log := &slowLog{let: make(chan struct{})}
			consumer := Consumer{
				Admitter: NewAdmitter(e.Names, log, nil, DefaultRules()), Queue: queue, Teller: e.Bus, Meter: counts{}, Logger: slog.New(slog.DiscardHandler),
				Gate: NewGate(func(context.Context) (bus.StreamFacts, error) { return bus.StreamFacts{}, nil }, 0, 1),
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- consumer.Run(ctx, ctx) }()
			for range c.sent {
				e.Submit(events.Request{Goal: strings.Repeat("x", c.size)})
			}
			for i, want := range []int{c.first, c.second} {
				synctest.Wait()
				if now := log.count(0); now != want {
					t.Errorf("%d bytes each: %d at once, want %d", c.size, now, want)
				}
				if i == 0 {
					log.let <- struct{}{}
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			queue.Stop()
		})
	}
}
