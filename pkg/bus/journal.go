package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Journal is the journal of one SubJob: the records on one subject, to which it appends, and other records that count.
type Journal struct {
	bus               *Bus
	job, subjob, pool string
	beside            []events.Tenure
}

// Journal returns the journal of a SubJob on the subject without a pool. With roles, only the services of the engine may use it.
func (b *Bus) Journal(job, subjob string) Journal { return Journal{bus: b, job: job, subjob: subjob} }

// In returns the records on the subject of a pool.
func (j Journal) In(pool string) Journal {
	j.pool = pool
	return j
}

// Beside also reads the records on the subject without a pool, and those of the pools of earlier runs. Records of other pools do
// not count, since those pools never had the work. A pool that had earlier runs may write nothing about later ones.
func (j Journal) Beside(former []events.Tenure) Journal {
	j.beside = nil
	if j.pool != "" {
		j.beside = append(j.beside, events.Tenure{Run: math.MaxInt})
	}
	for _, t := range former {
		if t.Pool == j.pool || !events.ValidToken(t.Pool) {
			continue
		}
		if i := slices.IndexFunc(j.beside, func(have events.Tenure) bool { return have.Pool == t.Pool }); i >= 0 {
			j.beside[i].Run = max(j.beside[i].Run, t.Run)
			continue
		}
		j.beside = append(j.beside, t)
	}
	return j
}

// Read returns all records in order, and the sequence of the last one on the journal's own subject, which the next append must
// expect; 0 for none. It reads from the leader. Errors: ErrUnavailable.
func (j Journal) Read(ctx context.Context) (list []run.Entry, last uint64, err error) {
	last, err = j.read(ctx, j.pool, func(e run.Entry) { list = append(list, e) })
	for _, t := range j.beside {
		if err != nil {
			break
		}
		_, err = j.read(ctx, t.Pool, func(e run.Entry) {
			if e.Apart = true; e.Run <= t.Run {
				list = append(list, e)
			}
		})
	}
	if err != nil {
		if ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded) {
			j.bus.presence.interrupted()
		}
		return nil, 0, fmt.Errorf("read journal of %s/%s: %w", j.job, j.subjob, err)
	}
	if len(j.beside) > 0 {
		slices.SortFunc(list, func(a, b run.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return list, last, nil
}

// read reads the records of a pool, and returns the sequence of the last.
func (j Journal) read(ctx context.Context, pool string, each func(run.Entry)) (last uint64, err error) {
	stream, subject := j.bus.names.Journal, j.bus.names.JournalIn(j.job, j.subjob, pool)
	if last, err = j.bus.lastOf(ctx, stream, subject); err != nil {
		return 0, err
	}
	return last, j.bus.each(ctx, stream, subject, 1, last, func(s Stored) bool {
		each(ReadEntry(s))
		return true
	})
}

// ReadEntry decodes a message of a journal.
func ReadEntry(s Stored) run.Entry {
	e := run.Entry{Seq: s.Seq, Time: s.Time}
	if err := json.Unmarshal(s.Body, &e.JournalRecord); err != nil {
		e.JournalRecord, e.Malformed = events.JournalRecord{}, err.Error()
	}
	return e
}

// JournalsOf yields the stored records of all journals of a job, of any pool, in the order of the stream, up to the leader's last
// record when reading begins. It ends with the first error: ErrUnavailable or the context's.
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

// Append adds a record if the journal's subject still ends at the sequence last. Errors: ErrConflict, and those of Publish.
func (j Journal) Append(ctx context.Context, r events.JournalRecord, last uint64) (uint64, error) {
	return j.AppendAsync(r, last).Wait(ctx)
}

// AppendAsync is like Append, without waiting.
func (j Journal) AppendAsync(r events.JournalRecord, last uint64) Ack {
	subject := j.bus.names.JournalIn(j.job, j.subjob, j.pool)
	body, err := events.Marshal(&r)
	if err != nil {
		return failed(subject, fmt.Errorf("encode journal record: %w", err))
	}
	return j.bus.PublishAsync(events.Message{Subject: subject, Body: body}, ExpectLast(last))
}
