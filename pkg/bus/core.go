package bus

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// PublishCore sends a message that is not stored: each present listener gets it once. Errors: ErrUnavailable, ErrTooLarge.
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

// OnCancel calls f for each cancellation of a job, or of one SubJob of it, until stop; run is the last run that is meant, 0 for
// all. A body that cannot be read counts as one without a run: the sender wanted something to end. Errors: those of
// SubscribeCore.
func (b *Bus) OnCancel(f func(job, subjob string, run int, reason string)) (stop func(), err error) {
	prefix := b.names.Cancel("", "")
	return b.SubscribeCore(prefix+">", func(subject string, body []byte) {
		job, subjob, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
		var c struct {
			Run    int    `json:"run"`
			Reason string `json:"reason"`
		}
		if json.Unmarshal(body, &c) != nil {
			c.Run = 0
		}
		f(job, subjob, c.Run, c.Reason)
	})
}
