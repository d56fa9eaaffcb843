package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Lease is a claim of this process, and the only writer behind it. It is safe for concurrent use; appends are serialised.
type Lease struct {
	Run
	// journal contains the claim; stored and lost are the hooks, never nil.
	journal Journal
	stored  func()
	lost    func(reason string, over bool) error

	turn   chan struct{} // Guards the fields below, and is held across an append.
	last   uint64
	fresh  time.Time // When the latest stored claim or renewal was sent.
	unsure bool      // The outcome of the latest append is unknown: the journal may continue after last.
	over   bool      // The record of the run's end is stored.
	gone   error     // The result of Hooks.Lost; nil while the claim may hold.

	until atomic.Int64 // When the lease ends, in nanoseconds since 1970; for readers that must not wait for an append.
}

// Hooks report changes of a lease.
type Hooks struct {
	// Stored is called after each stored record, which shows that the bus is reachable; may be nil.
	Stored func()
	// Lost is called when the claim no longer holds: over is true if the run is closed or a later one has begun, else
	// another owner took it over. The append that noticed returns the error that Lost returns.
	Lost func(reason string, over bool) error
}

// Waits between attempts to append while the bus is unreachable.
const (
	FirstRetry = 20 * time.Millisecond
	LongRetry  = 2 * time.Second
)

// lastBound limits the last append of a claim: its release, or the record of an end for which the journal has to be read.
const lastBound = time.Second

// Take claims a run after the sequence behind, up to which the journal was read. first is the effect that the claim
// announces, or the zero value. Errors: store.ErrConflict if the journal has continued,
// store.ErrNotPermitted, or those of the journal.
func Take(ctx context.Context, in Journal, r Run, behind uint64, first run.Effect, hooks Hooks) (*Lease, error) {
	in = r.of(in)
	l := &Lease{Run: r, journal: in, stored: hooks.Stored, lost: hooks.Lost, turn: make(chan struct{}, 1)}
	l.renewed(time.Now())
	seq, err := in.Append(r.Job, r.SubJob, run.Claimed(r.Run, r.Owner, r.Lease, r.Resumes, first), behind).Wait(ctx)
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotPermitted) {
		seq, err = l.claimed(ctx, behind) // The outcome is unknown; read the journal.
	}
	if err != nil {
		return nil, err
	}
	l.last = seq
	return l, nil
}

// renewed records when the latest claim or renewal was sent.
func (l *Lease) renewed(sent time.Time) {
	l.fresh = sent
	l.until.Store(sent.Add(l.Run.Lease).UnixNano())
}

// Until returns when the lease ends unless it is renewed. It does not wait for an append in progress.
func (l *Lease) Until() time.Time { return time.Unix(0, l.until.Load()).UTC() }

// claimed reads the journal to find out whether a claim with an unknown outcome was stored.
func (l *Lease) claimed(ctx context.Context, behind uint64) (uint64, error) {
	journal, err := l.read(ctx)
	if err != nil {
		return 0, fmt.Errorf("claim: %w", err)
	}
	if !journal.Holds(l.Run.Run, l.Owner) || journal.Last() <= behind {
		return 0, fmt.Errorf("claim: %w", store.ErrConflict)
	}
	return journal.Last(), nil
}

func (l *Lease) read(ctx context.Context) (*run.Journal, error) {
	entries, err := l.journal.Read(ctx, l.Job, l.SubJob)
	if err != nil {
		return nil, err
	}
	return run.Read(entries), nil
}

// lock waits for the turn until ctx ends.
func (l *Lease) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lease) unlock() { <-l.turn }

// Append adds a record and waits until it is stored. While the bus is unreachable it retries until ctx ends. Errors: the
// result of Hooks.Lost, store.ErrTooLarge, and ctx's.
func (l *Lease) Append(ctx context.Context, rec events.JournalRecord) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	for retry := FirstRetry; ; retry = min(2*retry, LongRetry) {
		sent := time.Now()
		seq, err := l.journal.Append(l.Job, l.SubJob, rec, l.last).Wait(ctx)
		if err == nil || errors.Is(err, store.ErrTooLarge) {
			if err == nil {
				l.keep(rec, seq)
				if rec.Type == events.JournalRenewed {
					l.renewed(sent)
				}
			}
			return err
		}
		l.unsure = true
		done, lost := l.look(ctx, &rec)
		if done || lost != nil {
			return lost
		}
		if err := Pause(ctx, retry); err != nil {
			return err
		}
	}
}

func (l *Lease) keep(rec events.JournalRecord, seq uint64) {
	l.last, l.unsure = seq, false
	if l.stored != nil {
		l.stored()
	}
	l.over = l.over || rec.Type == events.JournalReported
}

// look reads the journal after a write that failed or has an unknown outcome: done means that it was stored after all.
func (l *Lease) look(ctx context.Context, rec *events.JournalRecord) (done bool, lost error) {
	journal, err := l.read(ctx)
	if err != nil {
		return false, nil // The bus is unreachable, as the next attempt will notice.
	}
	if !journal.Holds(l.Run.Run, l.Owner) {
		l.gone = l.lose(journal)
		return false, l.gone
	}
	done = journal.Stored(l.last, rec)
	l.last = journal.Last()
	if done {
		l.keep(*rec, l.last)
	}
	return done, nil
}

func (l *Lease) lose(journal *run.Journal) error {
	reason, over := journal.Over(l.Run.Run)
	return l.lost(reason, over)
}

// Confirm checks the claim right before an effect starts, and renews a passed lease. While the bus is unreachable it waits,
// since a claim that cannot be read may be lost. Errors: the result of Hooks.Lost, and ctx's cause.
func (l *Lease) Confirm(ctx context.Context) error {
	for retry := FirstRetry; ; retry = min(2*retry, LongRetry) {
		journal, err := l.read(ctx)
		if err == nil {
			if !journal.Holds(l.Run.Run, l.Owner) {
				return l.lose(journal)
			}
			if err := l.refresh(ctx); err != nil && ctx.Err() == nil {
				return err
			}
			return context.Cause(ctx)
		}
		if Pause(ctx, retry) != nil {
			return context.Cause(ctx)
		}
	}
}

// Begin stores the intent to make an effect, which may begin if there is no error. Errors: those of Append.
func (l *Lease) Begin(ctx context.Context, intent events.JournalRecord) error {
	if err := l.refresh(ctx); err != nil {
		return err
	}
	if err := l.Append(ctx, intent); err != nil {
		return err
	}
	return l.refresh(ctx)
}

// refresh renews a lease that has passed because this process was suspended or the bus was unreachable. The run may not
// have been taken over yet, but another owner would no longer have to wait: it could ask about an effect that is just
// beginning, and make it too.
func (l *Lease) refresh(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	passed := time.Since(l.fresh) >= l.Run.Lease
	l.unlock()
	if !passed {
		return nil
	}
	return l.Append(ctx, run.Renewed(l.Run.Run, l.Owner, l.Run.Lease))
}

// Renew extends the lease. A renewal that takes longer than a third of the lease is given up, so that records of effects
// need not wait for it; the next one tries again. As long as the journal ends with this claim, the run has not been taken
// over.
func (l *Lease) Renew(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, l.Run.Lease/3)
	defer stop()
	return l.Append(ctx, run.Renewed(l.Run.Run, l.Owner, l.Run.Lease))
}

// Release ends the lease at once, so that the next delivery need not wait for it.
func (l *Lease) Release(ctx context.Context) {
	l.Conclude(context.WithoutCancel(ctx), run.Released(l.Run.Run, l.Owner))
}

// Conclude appends the last record of a claim, within a second. A failure does no harm: the next owner waits for the lease,
// or the log decides whose report was first.
func (l *Lease) Conclude(ctx context.Context, rec events.JournalRecord) {
	ctx, stop := context.WithTimeout(ctx, lastBound)
	defer stop()
	_ = l.Append(ctx, rec)
}

// Ask stores the record of a question with which the run ends, unless it exists.
func (l *Lease) Ask(ctx context.Context, rec events.JournalRecord) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	over := l.over
	l.unlock()
	if over {
		return nil
	}
	return l.Append(ctx, rec)
}

// End stores the record of an end other than success, which takes the run away from its owner. It tries for a second at
// most, so that an unreachable journal delays nothing. Errors: the result of Hooks.Lost, if the run has another owner or is
// over.
func (l *Lease) End(ctx context.Context, rec events.JournalRecord) error {
	bounded, stop := context.WithTimeout(ctx, lastBound)
	defer stop()
	_ = l.Ask(bounded, rec) // All that matters is whether the claim is lost.
	if l.lock(ctx) != nil {
		return nil
	}
	defer l.unlock()
	return l.gone
}

// Report sends the record of the run's end and returns a function that waits for it. If the end of the journal is unknown,
// Report waits itself: the next run, which the event starts, must not find this one open.
func (l *Lease) Report(ctx context.Context, rec events.JournalRecord) (wait func()) {
	if err := l.lock(ctx); err != nil {
		return func() {}
	}
	if l.unsure {
		l.unlock()
		l.Conclude(ctx, rec)
		return func() {}
	}
	defer l.unlock()
	if l.over {
		return func() {}
	}
	sent := l.journal.Append(l.Job, l.SubJob, rec, l.last)
	return func() { l.reported(ctx, rec, sent) }
}

// reported waits for the record of the run's end, and retries for a while if it was not stored.
func (l *Lease) reported(ctx context.Context, rec events.JournalRecord, sent Pending) {
	seq, err := sent.Wait(ctx)
	if err != nil {
		l.Conclude(ctx, rec)
		return
	}
	if l.lock(ctx) == nil {
		defer l.unlock()
		l.keep(rec, seq)
	}
}

// Pause waits for a while, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
