package client

import (
	"context"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// pools returns the pools of a job from its log; nil without signers, since then no subject names a pool. Events that cannot be
// folded are skipped.
func (j Journals) pools(ctx context.Context, job string) joblog.Pools {
	if !j.client.bus.Signed() {
		return nil
	}
	log, _ := j.client.Logs().Fold(ctx, job, 0) // It is partial with an error; the next call notices an unreachable bus.
	return log.Pools()
}

// journal returns the journal of a SubJob with all records that count.
func (j Journals) journal(p joblog.Pools, job, subjob string) bus.Journal {
	one := j.client.bus.Journal(job, subjob)
	if p == nil {
		return one
	}
	pool, former := p.Of(subjob)
	return one.In(pool).Beside(former)
}

// Read returns the records of a SubJob's journal that count, given the log of its job. Errors: those of the bus.
func (j Journals) Read(ctx context.Context, log *joblog.Log, subjob string) ([]run.Entry, error) {
	var p joblog.Pools
	if j.client.bus.Signed() {
		p = log.Pools()
	}
	entries, _, err := j.journal(p, log.Job.ID, subjob).Read(ctx)
	return entries, err
}

// all yields the counting records of all journals of a job, in the order of the stream, on the subjects without a pool: exports,
// and jobs imported from them, have no pools. It ends with the first error: those of the bus.
func (j Journals) all(ctx context.Context, job string) iter.Seq2[Record, error] {
	names := j.client.Names()
	return func(yield func(Record, error) bool) {
		p := j.pools(ctx, job)
		for s, err := range j.client.bus.JournalsOf(ctx, job) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			_, subjob, pool, ok := names.ParseJournal(s.Subject)
			r := Record{Subject: names.JournalOf(job, subjob), Header: s.Header, Seq: s.Seq, Time: s.Time, Body: s.Body}
			if ok && (pool == "" || p != nil && p.Counts(subjob, pool, r.entry().Run)) && !yield(r, nil) {
				return
			}
		}
	}
}

// close appends the close of a run to every journal in which it can be claimed, unless it exists.
func (j Journals) close(ctx context.Context, job, subjob string, number int, reason string) error {
	one := j.client.bus.Journal(job, subjob)
	in := []lease.One{one}
	if j.client.bus.Signed() {
		text, err := j.client.State(ctx, job)
		if err != nil {
			return err
		}
		p, err := joblog.SavedPools(text)
		if err != nil {
			return err
		}
		if pool := p.OfRun(subjob, number); pool != "" {
			in = append(in, one.In(pool))
		}
	}
	_, _, err := lease.Close(ctx, number, reason, in...)
	return err
}
