package service

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/run"
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

// Once stores a fact if its subject has none yet; otherwise the result is store.ErrConflict. If e.Born says which job the fact is
// about, one of an earlier job with the same id does not count. Errors: a fact that cannot be encoded.
func (l Log) Once(e events.Event) (lease.Pending, error) {
	m, err := l.identified(e)
	if err != nil {
		return nil, err
	}
	sent := l.bus.PublishAsync(m, bus.ExpectNone())
	if e.Born == 0 {
		return sent, nil
	}
	return &once{log: l, fact: e, sent: sent}, nil
}

// identified encodes a fact of a run. Its message id says which job it is about.
func (l Log) identified(e events.Event) (events.Message, error) {
	m, err := l.encode(e)
	switch {
	case err != nil:
		return m, err
	case e.Kind == events.KindSubJobReported && (l.reports || e.Born > 0):
		m.Header[events.HeaderMsgID] = []string{e.ID}
	case e.Born > 0:
		m.Header[events.HeaderMsgID] = []string{run.EventID(incarnation.ID(e.Job, e.Born), e.Kind, e.SubJob, e.Run)}
	}
	return m, nil
}

// once is a fact that is being stored on a subject where an earlier job with the same id may have left one.
type once struct {
	log  Log
	fact events.Event
	sent lease.Pending
}

// Wait implements lease.Pending.
func (o *once) Wait(ctx context.Context) (uint64, error) {
	seq, err := o.sent.Wait(ctx)
	if !errors.Is(err, store.ErrConflict) {
		return seq, err
	}
	m, wrong := o.log.identified(o.fact)
	if wrong != nil {
		return 0, wrong
	}
	names := o.log.bus.Names()
	there, missed := o.log.bus.Streams().LastOn(ctx, names.Log, m.Subject)
	switch {
	case errors.Is(missed, store.ErrNotFound): // That job was deleted only now.
	case missed != nil:
		return 0, missed
	case !Stray(names, there.Message, o.fact.Born):
		return seq, err
	}
	return o.log.bus.PublishAsync(m, bus.ExpectLast(there.Seq)).Wait(ctx)
}

// Stray reports whether a fact in the log belongs to an earlier job with the same id than the job whose request has the sequence born.
// If born is 0, it is not known which job is meant, and no fact counts as stray.
func Stray(n events.Names, m events.Message, born uint64) bool {
	e, ok := events.Decode(n, m)
	return ok && e.Born > 0 && e.Born < born
}

// Tell publishes a fact without waiting for it. It may be lost.
func (l Log) Tell(e events.Event) {
	if m, err := l.encode(e); err == nil {
		l.bus.PublishAsync(m, bus.Expect{})
	}
}

// Live passes bytes to those who watch a SubJob, on the subject of the pool of the run if pool is not empty; nothing is stored.
func (l Log) Live(job, subjob, pool string, body []byte) {
	_ = l.bus.Items().Pass(job, subjob, pool, l.secrets.Redactor().JSON(body)) // Best effort.
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
