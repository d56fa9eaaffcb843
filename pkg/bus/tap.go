package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// tapBuffer is how many messages a Tap holds that wait for Next.
const tapBuffer = 8192

// Tapped is a message as it passed by, with the subject that its sender wants an answer on.
type Tapped struct {
	events.Message
	// Reply is empty when the sender asks for no answer.
	Reply string
}

// Tap hears what passes by on some subjects, in the order in which it came: for those who check how others speak.
type Tap struct {
	heard chan *nats.Msg
	subs  []*nats.Subscription
}

// Tap listens until Close. What passes while the connection is away is not heard. Errors: those of SubscribeCore.
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

// Acks are the subjects on which the acknowledgements of a pool's work pass by, whichever form the server gives them.
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

// Close stops listening.
func (e *Tap) Close() {
	for _, sub := range e.subs {
		_ = sub.Unsubscribe() // The connection may be closed, and the subscription with it.
	}
}
