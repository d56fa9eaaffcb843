package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// tapBuffer is how many unread messages a Tap holds.
const tapBuffer = 8192

// Tapped is an observed message.
type Tapped struct {
	events.Message
	// Reply is the subject for the answer, empty if the sender expects none.
	Reply string
}

// Tap observes the messages on some subjects, in order of arrival, for checks of other programs' messages.
type Tap struct {
	heard chan *nats.Msg
	subs  []*nats.Subscription
}

// Tap observes messages until Close. Messages sent during a disconnect are missed. Errors: those of SubscribeCore.
func (b *Bus) Tap(subjects ...string) (*Tap, error) {
	e := &Tap{heard: make(chan *nats.Msg, tapBuffer)}
	for _, subject := range subjects {
		sub, err := b.nc.ChanSubscribe(subject, e.heard)
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("tap %s: %w", subject, class(err))
		}
		e.subs = append(e.subs, sub)
	}
	return e, nil
}

// Acks returns the subjects that carry the acknowledgements of a pool's work, in all forms that servers use.
func (q *Queues) Acks(pool string) []string {
	of := q.bus.names.Work + "." + q.PoolConsumer(pool).Durable + ".>"
	return []string{"$JS.ACK." + of, "$JS.ACK.*.*." + of}
}

// Next waits for the next message. The error is that of ctx.
func (e *Tap) Next(ctx context.Context) (Tapped, error) {
	select {
	case m := <-e.heard:
		return Tapped{Message: events.Message{Subject: m.Subject, Header: m.Header, Body: m.Data}, Reply: m.Reply}, nil
	case <-ctx.Done():
		return Tapped{}, ctx.Err()
	}
}

// Close ends the observation.
func (e *Tap) Close() {
	for _, sub := range e.subs {
		_ = sub.Unsubscribe() // The connection may be closed already.
	}
}
