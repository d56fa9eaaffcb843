package service

import (
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Log publishes the facts of a service, without the secrets of the process.
type Log struct {
	bus     *bus.Bus
	secrets *redact.Set
	// reports says whether the message of a report carries the report's identity for deduplication.
	reports bool
}

// NewLog publishes facts on a bus. It removes secrets from them; nil means none. With reports the broker drops the repeat of a
// report.
func NewLog(b *bus.Bus, secrets *redact.Set, reports bool) Log { return Log{b, secrets, reports} }

// Once stores a fact if its subject has none yet; otherwise the result is store.ErrConflict. Errors: a fact that cannot be encoded.
func (l Log) Once(e events.Event) (lease.Pending, error) {
	m, err := l.encode(e)
	if err != nil {
		return nil, err
	}
	if l.reports && e.Kind == events.KindSubJobReported {
		m.Header[events.HeaderMsgID] = []string{e.ID}
	}
	return l.bus.PublishAsync(m, bus.ExpectNone()), nil
}

// Tell publishes a fact without waiting for it. It may be lost.
func (l Log) Tell(e events.Event) {
	if m, err := l.encode(e); err == nil {
		l.bus.PublishAsync(m, bus.Expect{})
	}
}

// Live passes bytes to those who watch a SubJob; nothing is stored.
func (l Log) Live(job, subjob string, body []byte) {
	_ = l.bus.PublishCore(l.bus.Names().Live(job, subjob), nil, l.secrets.Redactor().JSON(body)) // Best effort.
}

func (l Log) encode(e events.Event) (events.Message, error) {
	if redactor := l.secrets.Redactor(); !redactor.Empty() && e.Data != nil {
		body, err := events.Marshal(e.Data)
		if err != nil {
			return events.Message{}, err
		}
		e.Data = events.Verbatim(redactor.JSON(body))
	}
	return events.Encode(l.bus.Names(), e)
}
