package bus

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// PublishCore sends a message that nobody stores: whoever listens now gets it, once. Errors: ErrUnavailable, ErrTooLarge.
func (b *Bus) PublishCore(subject string, header map[string][]string, body []byte) error {
	if err := b.nc.PublishMsg(&nats.Msg{Subject: subject, Header: header, Data: body}); err != nil {
		return fmt.Errorf("publish %s: %w", subject, notSent(err))
	}
	return nil
}

// SubscribeCore calls f for each message that passes by on a subject, from one goroutine, until stop. A slow f loses
// messages when the connection's buffer is full. After a reconnect the subscription goes on; what passed meanwhile is gone.
func (b *Bus) SubscribeCore(subject string, f func(subject string, body []byte)) (stop func(), err error) {
	sub, err := b.nc.Subscribe(subject, func(m *nats.Msg) { f(m.Subject, m.Data) })
	if err != nil {
		return nil, fmt.Errorf("subscribe %s: %w", subject, class(err))
	}
	return func() {
		_ = sub.Unsubscribe() // The connection may be closed, and the subscription with it.
	}, nil
}
