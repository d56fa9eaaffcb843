package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// earRoom is how many messages an Ear holds that nobody has asked for yet.
const earRoom = 8192

// Overheard is a message as it passed by, with the subject that its sender wants an answer on.
type Overheard struct {
	events.Message
	// Reply is empty when the sender asks for no answer.
	Reply string
}

// Ear hears what passes by on some subjects, in the order in which it came: for those who check how others speak.
type Ear struct {
	heard chan *nats.Msg
	subs  []*nats.Subscription
}

// Overhear listens until Close. What passes while the connection is away is not heard. Errors: those of SubscribeCore.
func (b *Bus) Overhear(subjects ...string) (*Ear, error) {
	e := &Ear{heard: make(chan *nats.Msg, earRoom)}
	for _, subject := range subjects {
		sub, err := b.nc.ChanSubscribe(subject, e.heard)
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("overhear %s: %w", subject, class(err))
		}
		e.subs = append(e.subs, sub)
	}
	return e, nil
}

// Acks are the subjects on which the acknowledgements of a pool's work pass by, whichever form the server gives them.
func (b *Bus) Acks(pool string) []string {
	of := b.names.Work + "." + b.PoolConsumer(pool).Durable + ".>"
	return []string{"$JS.ACK." + of, "$JS.ACK.*.*." + of}
}

// Next waits for the next message. The error is that of ctx.
func (e *Ear) Next(ctx context.Context) (Overheard, error) {
	select {
	case m := <-e.heard:
		return Overheard{Message: events.Message{Subject: m.Subject, Header: m.Header, Body: m.Data}, Reply: m.Reply}, nil
	case <-ctx.Done():
		return Overheard{}, ctx.Err()
	}
}

// Close stops listening.
func (e *Ear) Close() {
	for _, sub := range e.subs {
		_ = sub.Unsubscribe() // The connection may be closed, and the subscription with it.
	}
}
