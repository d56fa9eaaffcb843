package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// startKey is the key of the start record.
const startKey = "start"

// defaultLease is the lease of a claim if the work sets none.
const defaultLease = 30 * time.Second

// Reasons why this planner cannot continue a run.
var (
	// errOver means that the run is closed or superseded: its result is no longer wanted.
	errOver = errors.New("the run is over")
	// errLost means that another planner took the run over, or that the claim could not be renewed in time.
	errLost = errors.New("the run is not held any more")
)

// busyError means that another planner holds the run.
type busyError struct{ wait time.Duration }

func (e *busyError) Error() string { return "another planner holds the run" }

// record is the journal of a claimed run: the commands and answers of it and of the runs that it resumes.
type record struct {
	*lease.Lease
	loop  *Loop
	w     *events.Work
	start *planning.Start // nil if none was recorded.
	facts map[string]planning.Fact
	asked map[string]time.Time // When the first intent of each key was recorded.
	own   bool                 // The latest claim before this one was of the same planner, which had put the run off.
}

// claim reads the journal of a run and claims it. Errors: errOver, *busyError, and the bus's.
func (l *Loop) claim(ctx context.Context, w *events.Work) (*record, error) {
	const most = 8 // Limits the attempts while others keep writing to the journal.
	for range most {
		journal, a, err := lease.Admit(ctx, l.Journal, l.claimant(w))
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if err := refused(a); err != nil {
			return nil, err
		}
		r := &record{loop: l, w: w, facts: map[string]planning.Fact{}, own: journal.Holds(w.Run, l.Owner)}
		if err := r.remember(ctx, journal); err != nil {
			return nil, err
		}
		r.Lease, err = lease.Take(ctx, l.Journal, l.claimant(w), a.Expect, jobrun.Effect{}, lease.Hooks{Lost: lost})
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("claim the run: %w", err)
		}
		return r, nil
	}
	return nil, errors.New("claim the run: its journal keeps changing")
}

// claimant returns the run with this planner as its owner.
func (l *Loop) claimant(w *events.Work) lease.Run {
	return lease.Run{Job: w.Job, SubJob: w.SubJob, Run: w.Run, Resumes: w.ResumeOf, Owner: l.Owner, Lease: leaseOf(w)}
}

func leaseOf(w *events.Work) time.Duration {
	if w.Lease <= 0 {
		return defaultLease
	}
	return w.Lease.Std()
}

// refused returns the error of a run that cannot be claimed.
func refused(a jobrun.Admission) error {
	switch a.Action {
	case jobrun.Drop:
		return errOver
	case jobrun.Wait:
		return &busyError{wait: a.Wait}
	}
	return nil
}

// lost returns the error of a write under a claim that no longer holds.
func lost(string, bool) error { return errLost }

// remember collects what this run and those that it resumes have recorded.
func (r *record) remember(ctx context.Context, journal *jobrun.Journal) error {
	known := journal.Effects(r.w.Run, r.w.ResumeOf)
	r.asked = known.Begun
	for _, rec := range known.Finished { // any order: each is about a call of its own.
		if err := r.recall(ctx, &rec); err != nil {
			return err
		}
	}
	return nil
}

// recall reads one result. A damaged one counts as missing, and the call is made again.
func (r *record) recall(ctx context.Context, rec *events.JournalRecord) error {
	data := []byte(rec.Data)
	if rec.Ref != nil {
		var err error
		data, err = r.loop.Blobs.Get(ctx, r.w.Job, rec.Ref.Digest)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what was recorded: %w", err)
		}
	}
	if rec.Key == startKey {
		var s planning.Start
		if json.Unmarshal(data, &s) == nil {
			r.start = &s
		}
		return nil
	}
	var f planning.Fact
	if json.Unmarshal(data, &f) == nil && f.Key == rec.Key {
		r.facts[f.Key] = f
	}
	return nil
}

// begin records the start of planning.
func (r *record) begin(ctx context.Context, s *planning.Start) error {
	return r.result(ctx, startKey, "session", s)
}

// intend records that a call is about to be made. It may be made twice: an answer that was not recorded was not used.
func (r *record) intend(ctx context.Context, c *planning.Command) error {
	rec := jobrun.Intends(r.w.Run, r.loop.Owner, jobrun.Effect{Key: c.Key, Name: string(c.Kind), Safe: true})
	if prompt := r.prompt(c); prompt != nil {
		if err := r.hold(ctx, &rec, prompt); err != nil {
			return fmt.Errorf("record %s: %w", c.Key, err)
		}
	}
	return r.Append(ctx, rec)
}

// since is when a call was first made, even by another planner.
func (r *record) since(key string) time.Time {
	if at, known := r.asked[key]; known {
		return at
	}
	return time.Now()
}

// keep records the answer of a command.
func (r *record) keep(ctx context.Context, c *planning.Command, f *planning.Fact) error {
	return r.result(ctx, c.Key, string(c.Kind), f)
}

func (r *record) result(ctx context.Context, key, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	rec := jobrun.Made(r.w.Run, r.loop.Owner, jobrun.Effect{Key: key, Name: name}, nil, nil)
	if err := r.hold(ctx, &rec, data); err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	return r.Append(ctx, rec)
}

// hold puts data into a record, or into a blob that the record refers to if they are too large.
func (r *record) hold(ctx context.Context, rec *events.JournalRecord, data []byte) error {
	if len(data) <= events.MaxInline {
		rec.Data = data
		return nil
	}
	ref, err := r.put(ctx, data)
	if err != nil {
		return err
	}
	rec.Data, rec.Ref = nil, &ref
	return nil
}

// put stores a payload that is too large for a record. While the bus is unreachable it retries as long as the claim holds,
// since the model's answer is paid for.
func (r *record) put(ctx context.Context, data []byte) (events.Ref, error) {
	for retry := lease.FirstRetry; ; retry = min(2*retry, lease.LongRetry) {
		ref, err := r.loop.Blobs.Put(ctx, r.w.Job, data)
		if err == nil || errors.Is(err, store.ErrTooLarge) || lease.Pause(ctx, retry) != nil {
			return ref, err
		}
	}
}
