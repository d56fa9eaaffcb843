package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Journal is the journal of one SubJob.
type Journal struct {
	bus         *Bus
	job, subjob string
}

// Journal returns the journal of a SubJob.
func (b *Bus) Journal(job, subjob string) Journal { return Journal{b, job, subjob} }

// Read returns all records in order, and the sequence of the last one, which the next append must expect; 0 for none. It
// reads from the leader. Errors: ErrUnavailable.
func (j Journal) Read(ctx context.Context) (list []run.Entry, last uint64, err error) {
	stream, subject := j.bus.names.Journal, j.bus.names.JournalOf(j.job, j.subjob)
	last, err = j.bus.lastOf(ctx, stream, subject)
	if err == nil {
		err = j.bus.each(ctx, stream, subject, 1, last, func(s Stored) bool {
			list = append(list, ReadEntry(s))
			return true
		})
	}
	if err != nil {
		if ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded) {
			j.bus.presence.interrupted()
		}
		return nil, 0, fmt.Errorf("read journal of %s/%s: %w", j.job, j.subjob, err)
	}
	return list, last, nil
}

// ReadEntry decodes a message of a journal.
func ReadEntry(s Stored) run.Entry {
	e := run.Entry{Seq: s.Seq, Time: s.Time}
	if err := json.Unmarshal(s.Body, &e.JournalRecord); err != nil {
		e.JournalRecord, e.Malformed = events.JournalRecord{}, err.Error()
	}
	return e
}

// JournalsOf yields the stored records of all journals of a job, in the order of the stream, up to what the leader has when
// the reading begins. It ends with the first error: ErrUnavailable or the context's.
func (b *Bus) JournalsOf(ctx context.Context, job string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		err := validJob(job)
		if err == nil {
			err = b.Log().read(ctx, b.names.Journal, b.names.JobJournal(job), 0, yield)
		}
		if err != nil {
			yield(Stored{}, fmt.Errorf("read journals of job %s: %w", job, err))
		}
	}
}

// Append adds a record if the journal still ends at the sequence last. Errors: ErrConflict, and those of Publish.
func (j Journal) Append(ctx context.Context, r events.JournalRecord, last uint64) (uint64, error) {
	return j.AppendAsync(r, last).Wait(ctx)
}

// AppendAsync is Append without waiting.
func (j Journal) AppendAsync(r events.JournalRecord, last uint64) Ack {
	subject := j.bus.names.JournalOf(j.job, j.subjob)
	body, err := events.Marshal(&r)
	if err != nil {
		return failed(subject, fmt.Errorf("encode journal record: %w", err))
	}
	return j.bus.PublishAsync(events.Message{Subject: subject, Body: body}, ExpectLast(last))
}
