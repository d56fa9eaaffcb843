package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Lease is a claim that this process has, and the only writer behind it. It may be used by several goroutines: their appends
// are in a line.
type Lease struct {
	Run
	// journal is where the claim is; stored and lost are called without a wait.
	journal Journal
	stored  func()
	lost    func(reason string, over bool) error

	turn   chan struct{} // Guards the fields below, and is held across an append.
	last   uint64
	fresh  time.Time // When the latest claim or renewal that was stored had been sent.
	unsure bool      // The outcome of the latest append is unknown: the journal may go on behind last.
	over   bool      // The record of the run's end is stored.
	gone   error     // What Hooks.Lost has given to an append; nil while the claim may stand.
}

// Hooks are told what becomes of a lease.
type Hooks struct {
	// Stored is called after each record that was stored, each of which shows that the bus is there; may be nil.
	Stored func()
	// Lost is called when the claim does not stand any more: over is true when the run is closed or a later one has begun, else
	// another owner has taken it over. It gives the error of the append that found out.
	Lost func(reason string, over bool) error
}

// Waits between attempts to append while the bus is away.
const (
	FirstRetry = 20 * time.Millisecond
	LongRetry  = 2 * time.Second
)

// lastBound is how long the last record of a claim may take: the one that lets go of it, or that of an end at which the journal
// has to be looked at.
const lastBound = time.Second

// Take claims a run behind what was read. first is the effect that the claim announces, the zero value for none. Errors:
// store.ErrConflict when the journal has gone on, or those of the journal.
func Take(ctx context.Context, in Journal, r Run, behind uint64, first run.Effect, hooks Hooks) (*Lease, error) {
	l := &Lease{Run: r, journal: in, stored: hooks.Stored, lost: hooks.Lost, turn: make(chan struct{}, 1)}
	l.fresh = time.Now()
	seq, err := in.Append(r.Job, r.SubJob, run.Claimed(r.Run, r.Owner, r.Lease, r.Resumes, first), behind).Wait(ctx)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		seq, err = l.claimed(ctx, behind) // Whether it was stored is unknown; the journal has it or not.
	}
	if err != nil {
		return nil, err
	}
	l.last = seq
	return l, nil
}

// claimed looks whether a claim whose outcome was unknown is there.
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

// lock waits for the turn, as long as ctx lasts.
func (l *Lease) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lease) unlock() { <-l.turn }

// Append adds a record and waits until it is stored. It goes on while the bus is away, until ctx ends. Errors: what Hooks.Lost
// gives, store.ErrTooLarge, and ctx's.
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
					l.fresh = sent
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

// look reads the journal after a write that did not succeed: done means that it did after all.
func (l *Lease) look(ctx context.Context, rec *events.JournalRecord) (done bool, lost error) {
	journal, err := l.read(ctx)
	if err != nil {
		return false, nil // The bus is away, which the next attempt finds out by itself.
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

// Confirm looks at the claim once more, right before an effect starts, and renews a lease that has passed. While the bus is away it waits: a claim that cannot be
// read may be lost. Errors: what Hooks.Lost gives, and ctx's cause.
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

// Begin stores the intent to make an effect, which may begin when it returns without an error. Errors: those of Append.
func (l *Lease) Begin(ctx context.Context, intent events.JournalRecord) error {
	if err := l.refresh(ctx); err != nil {
		return err
	}
	if err := l.Append(ctx, intent); err != nil {
		return err
	}
	return l.refresh(ctx)
}

// refresh renews a lease that has passed, because this process was stopped or the bus was away. It may not have been taken over so far, but
// a successor would not have to wait now: an effect that began now could be asked about, and made by another owner, while it
// begins.
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

// Renew extends the lease. A renewal that does not get through in a third of the lease leaves the line to the records of effects;
// the next one tries again. As long as the journal ends with this claim the run has not been taken over.
func (l *Lease) Renew(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, l.Run.Lease/3)
	defer stop()
	return l.Append(ctx, run.Renewed(l.Run.Run, l.Owner, l.Run.Lease))
}

// Release ends the lease at once, so that the next delivery need not wait for it.
func (l *Lease) Release(ctx context.Context) {
	l.Conclude(context.WithoutCancel(ctx), run.Released(l.Run.Run, l.Owner))
}

// Conclude appends the last record of a claim, for a second at most. A failure changes nothing: the next owner waits for the lease,
// or the log decides whose report was first.
func (l *Lease) Conclude(ctx context.Context, rec events.JournalRecord) {
	ctx, stop := context.WithTimeout(ctx, lastBound)
	defer stop()
	_ = l.Append(ctx, rec)
}

// Ask stores the record of a question with which the run ends, unless it is stored.
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

// End stores the record of an end that takes the run away from its owner: anything but a success. It goes on for a second at most, and a
// journal that stays away keeps back nothing. Errors: what Hooks.Lost gives, when the run has another owner or is over.
func (l *Lease) End(ctx context.Context, rec events.JournalRecord) error {
	bounded, stop := context.WithTimeout(ctx, lastBound)
	defer stop()
	_ = l.Ask(bounded, rec) // Whether the claim is lost is all that counts.
	if l.lock(ctx) != nil {
		return nil
	}
	defer l.unlock()
	return l.gone
}

// Report sends the record of the run's end, and gives what waits for it. Where it is unknown what the journal ends with, the
// record is stored before Report returns: the next run, which the event begins, must not find this one open.
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

// reported waits for the record of the run's end. One that was not stored is tried again for a while.
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
