package wire

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// RedactedLog is a Log that states no secret of the process.
type RedactedLog struct {
	Log
	Secrets *redact.Set
}

// State implements loop.Log.
func (l RedactedLog) State(ctx context.Context, e events.Event) error {
	if err := l.redact(&e); err != nil {
		return err
	}
	return l.Log.State(ctx, e)
}

// Tell implements loop.Log.
func (l RedactedLog) Tell(e events.Event) {
	if l.redact(&e) == nil {
		l.Log.Tell(e)
	}
}

// Live implements loop.Log.
func (l RedactedLog) Live(job, subjob string, body []byte) {
	l.Log.Live(job, subjob, l.Secrets.Redactor().JSON(body))
}

func (l RedactedLog) redact(e *events.Event) error {
	redactor := l.Secrets.Redactor()
	if redactor.Empty() || e.Data == nil {
		return nil
	}
	body, err := events.Marshal(e.Data)
	if err == nil {
		e.Data = events.Verbatim(redactor.JSON(body))
	}
	return err
}

// RedactedJournal is a Journal that keeps no secret of the process.
type RedactedJournal struct {
	Journal
	Secrets *redact.Set
}

// Append implements lease.Journal.
func (j RedactedJournal) Append(job, subjob string, r events.JournalRecord, last uint64) lease.Pending {
	redactor := j.Secrets.Redactor()
	r.Data, r.Reason = redactor.JSON(r.Data), redactor.Text(r.Reason)
	return j.Journal.Append(job, subjob, r, last)
}

// RedactedBlobs keep no secret of the process.
type RedactedBlobs struct {
	Blobs
	Secrets *redact.Set
}

// Put implements loop.Blobs.
func (b RedactedBlobs) Put(ctx context.Context, job string, data []byte) (events.Ref, error) {
	return b.Blobs.Put(ctx, job, b.Secrets.Redactor().JSON(data))
}
