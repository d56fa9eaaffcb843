package bus

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// PublishCore sends a message without storing it: each present listener gets it once. Errors: ErrUnavailable, ErrTooLarge.
func (b *Bus) PublishCore(subject string, header map[string][]string, body []byte) error {
	if err := b.nc.PublishMsg(&nats.Msg{Subject: subject, Header: header, Data: body}); err != nil {
		return fmt.Errorf("publish %s: %w", subject, class(err))
	}
	return nil
}

// SubscribeCore calls f, from one goroutine, for each message on a subject until stop. If f is slow and the connection's
// buffer is full, messages are lost. The subscription survives a reconnect; messages sent during the break are lost.
func (b *Bus) SubscribeCore(subject string, f func(subject string, body []byte)) (stop func(), err error) {
	sub, err := b.nc.Subscribe(subject, func(m *nats.Msg) { f(m.Subject, m.Data) })
	if err != nil {
		return nil, fmt.Errorf("subscribe %s: %w", subject, class(err))
	}
	return func() {
		_ = sub.Unsubscribe() // The connection may be closed already.
	}, nil
}

// OnCancel calls f for each cancellation of a job, or of one of its SubJobs, until stop. run is the last run to cancel, 0
// for all. A body that cannot be parsed counts as one without a run, since the sender wanted to end something. Errors:
// those of SubscribeCore.
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
