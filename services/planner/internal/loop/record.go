package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/planner/internal/session"
)

// startKey is the record of what a session began with.
const startKey = "start"

// defaultLease is how long a claim holds when the work does not say.
const defaultLease = 30 * time.Second

// Ways a run is not this planner's to go on with.
var (
	// errOver means that the run is closed, or a later one has begun: nobody waits for its answer.
	errOver = errors.New("the run is over")
	// errLost means that somebody else has taken the run, or that the claim could not be renewed in time.
	errLost = errors.New("the run is not held any more")
)

// busyError means that another planner holds the run.
type busyError struct{ wait time.Duration }

func (e *busyError) Error() string { return "another planner holds the run" }

// record is the journal of a run that this planner has claimed: what was asked and answered in it and in the runs that it
// resumes. It is the only writer behind its claim, every append expects the one before.
type record struct {
	loop  *Loop
	w     *events.Work
	start *session.Start // nil when none was recorded.
	facts map[string]session.Fact
	asked map[string]time.Time // When the first intent of each key was recorded.

	mu   sync.Mutex // Guards last, and is held across an append: appends are in a line.
	last uint64
}

// claim reads the journal of a run and takes the run. Errors: errOver, *busyError, and the bus's.
func (l *Loop) claim(ctx context.Context, w *events.Work) (*record, error) {
	const most = 8 // Bounds the attempts behind a journal that goes on changing.
	for range most {
		r := &record{loop: l, w: w, facts: map[string]session.Fact{}, asked: map[string]time.Time{}}
		entries, last, err := l.Journal.Read(ctx, w.Job, w.SubJob)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		journal := jobrun.Read(entries)
		if err := l.free(ctx, w, journal); err != nil {
			return nil, err
		}
		if err := r.remember(ctx, journal); err != nil {
			return nil, err
		}
		r.last, err = l.Journal.Append(ctx, w.Job, w.SubJob, jobrun.Claimed(w.Run, l.Owner, r.lease(), w.ResumeOf, jobrun.Effect{}), last)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("claim the run: %w", err)
		}
		return r, nil
	}
	return nil, errors.New("claim the run: its journal goes on changing")
}

func (r *record) lease() time.Duration {
	if r.w.Lease <= 0 {
		return defaultLease
	}
	return r.w.Lease.Std()
}

// free reports whether a run can be claimed, by the broker's clock, which is asked only where somebody else has a claim.
func (l *Loop) free(ctx context.Context, w *events.Work, journal *jobrun.Journal) error {
	c := jobrun.Claimant{Owner: l.Owner}
	a := journal.Admit(w.Run, c)
	if a.Action == jobrun.Wait {
		var err error
		if c.Now, c.Since, err = l.Journal.Clock(ctx); err != nil {
			return fmt.Errorf("read the clock: %w", err)
		}
		a = journal.Admit(w.Run, c)
	}
	switch a.Action {
	case jobrun.Drop:
		return errOver
	case jobrun.Wait:
		return &busyError{wait: a.Wait}
	}
	return nil
}

// remember collects what this run and those it resumes have come to.
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

// recall reads one result. One that is damaged counts as not there: the call is made again.
func (r *record) recall(ctx context.Context, rec *events.JournalRecord) error {
	data := []byte(rec.Data)
	if rec.Ref != nil {
		var err error
		data, err = r.loop.Blobs.Get(ctx, r.w.Job, rec.Ref.Digest)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what was recorded: %w", err)
		}
	}
	if rec.Key == startKey {
		var s session.Start
		if json.Unmarshal(data, &s) == nil {
			r.start = &s
		}
		return nil
	}
	var f session.Fact
	if json.Unmarshal(data, &f) == nil && f.Key == rec.Key {
		r.facts[f.Key] = f
	}
	return nil
}

// begin records what the session knows.
func (r *record) begin(ctx context.Context, s *session.Start) error {
	return r.result(ctx, startKey, "session", s)
}

// intend records that something is about to be asked. It may be asked twice: what was not answered was not used.
func (r *record) intend(ctx context.Context, c *session.Command) error {
	return r.append(ctx, jobrun.Intends(r.w.Run, r.loop.Owner, jobrun.Effect{Key: c.Key, Name: string(c.Kind), Safe: true}))
}

// since is when something was first asked, also by a planner that is dead by now.
func (r *record) since(key string) time.Time {
	if at, known := r.asked[key]; known {
		return at
	}
	return time.Now()
}

// keep records what came of it.
func (r *record) keep(ctx context.Context, c *session.Command, f *session.Fact) error {
	return r.result(ctx, c.Key, string(c.Kind), f)
}

func (r *record) result(ctx context.Context, key, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	rec := jobrun.Made(r.w.Run, r.loop.Owner, jobrun.Effect{Key: key, Name: name}, data, nil)
	if len(data) > events.MaxInline {
		ref, err := r.put(ctx, data)
		if err != nil {
			return fmt.Errorf("record %s: %w", key, err)
		}
		rec.Data, rec.Ref = nil, &ref
	}
	return r.append(ctx, rec)
}

// put stores what is too large for a record. While the bus is away it waits, as long as the run is held: what a model has said
// is paid for.
func (r *record) put(ctx context.Context, data []byte) (events.Ref, error) {
	for retry := firstRetry; ; retry = min(2*retry, longRetry) {
		ref, err := r.loop.Blobs.Put(ctx, r.w.Job, data)
		if err == nil || errors.Is(err, ErrTooLarge) || pause(ctx, retry) != nil {
			return ref, err
		}
	}
}

// renew extends the lease.
func (r *record) renew(ctx context.Context) error {
	return r.append(ctx, jobrun.Renewed(r.w.Run, r.loop.Owner, r.lease()))
}

// release ends the lease at once, so that the next delivery need not wait for it.
func (r *record) release(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer stop()
	// A failure makes the next one wait for the lease.
	_ = r.append(ctx, jobrun.Released(r.w.Run, r.loop.Owner))
}

// releaseBound is how long letting go of a claim may take.
const releaseBound = time.Second

// append adds a record and waits until it is stored, also while the bus is away, until ctx ends: the lease is how long others keep
// off the run, not how long its work may go on. errLost means that the run is somebody else's, or nobody's any more.
func (r *record) append(ctx context.Context, rec events.JournalRecord) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for retry := firstRetry; ; retry = min(2*retry, longRetry) {
		seq, err := r.loop.Journal.Append(ctx, r.w.Job, r.w.SubJob, rec, r.last)
		if err != nil {
			seq, err = r.look(ctx, &rec, err)
		}
		switch {
		case err == nil && seq != 0:
			r.last = seq
			return nil
		case err != nil:
			return err
		}
		if err := pause(ctx, retry); err != nil {
			return err
		}
	}
}

// Waits between attempts to append while the bus is away.
const (
	firstRetry = 20 * time.Millisecond
	longRetry  = 2 * time.Second
)

// look reads the journal after a write that failed: its sequence when it is there after all, 0 to try again behind what is
// there now.
func (r *record) look(ctx context.Context, rec *events.JournalRecord, failed error) (seq uint64, err error) {
	if errors.Is(failed, ErrTooLarge) {
		return 0, failed
	}
	entries, last, err := r.loop.Journal.Read(ctx, r.w.Job, r.w.SubJob)
	if err != nil {
		return 0, nil // The bus is away, which the next attempt finds out by itself.
	}
	journal := jobrun.Read(entries)
	if !journal.Holds(r.w.Run, r.loop.Owner) {
		return 0, errLost
	}
	if journal.Stored(r.last, rec) {
		seq = last
	}
	r.last = last
	return seq, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
