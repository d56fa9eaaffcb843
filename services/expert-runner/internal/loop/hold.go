package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
)

// hold is a claim that this process has, and the only writer behind it: every append expects the one before.
type hold struct {
	run *run

	turn   chan struct{} // Guards the fields below, and is held across an append: appends are in a line.
	last   uint64
	unsure bool // Nobody knows whether the latest append was stored: the journal may go on behind last.
	over   bool // The record of the ending is stored.
}

// Waits between attempts to append while the bus is away.
const (
	firstRetry = 20 * time.Millisecond
	longRetry  = 2 * time.Second
)

// lastBound is how long the last record of a claim may take: the one that lets go of it, or that of an ending at which the
// journal has to be looked at.
const lastBound = time.Second

func newHold(r *run, last uint64) *hold {
	return &hold{run: r, last: last, turn: make(chan struct{}, 1)}
}

// lock waits for the turn, as long as ctx lasts.
func (h *hold) lock(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *hold) unlock() { <-h.turn }

// append adds a record and waits until it is stored. It goes on while the bus is away, until ctx ends: the lease is how long others
// keep off the run, not how long its work may go on, and a late record is stored as long as nobody has taken over. When the
// journal says that somebody else holds the run, or that it is closed, the run's context is ended with the reason.
func (h *hold) append(ctx context.Context, rec events.JournalRecord) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	for retry := firstRetry; ; retry = min(2*retry, longRetry) {
		seq, err := h.run.loop.Journal.Append(h.run.Job, h.run.SubJob, rec, h.last).Wait(ctx)
		if err == nil || errors.Is(err, ErrTooLarge) {
			if err == nil {
				h.stored(rec, seq)
			}
			return err
		}
		h.unsure = true
		done, lost := h.look(ctx, rec)
		if done || lost != nil {
			return lost
		}
		if err := pause(ctx, retry); err != nil {
			return err
		}
	}
}

func (h *hold) stored(rec events.JournalRecord, seq uint64) {
	h.last, h.unsure = seq, false
	h.run.lookout.renewed()
	h.over = h.over || rec.Type == events.JournalReported
}

// look reads the journal after a write that did not succeed: done means that it did after all.
func (h *hold) look(ctx context.Context, rec events.JournalRecord) (done bool, lost error) {
	entries, err := h.run.loop.Journal.Read(ctx, h.run.Job, h.run.SubJob)
	if err != nil {
		return false, nil // The bus is away, which the next attempt finds out by itself.
	}
	journal := jobrun.Read(entries)
	if !journal.Holds(h.run.Run, h.run.loop.Owner) {
		return false, h.lose(journal)
	}
	done = journal.Stored(h.last, &rec)
	h.last = journal.Last()
	if done {
		h.stored(rec, h.last)
	}
	return done, nil
}

// lose ends the run: stopped, when the journal closes it, else fenced.
func (h *hold) lose(journal *jobrun.Journal) error {
	why := errFenced
	if reason, over := journal.Over(h.run.Run); over {
		why = &cancelled{reason: reason}
	}
	h.run.cancel(why)
	return why
}

// claimed looks whether a claim whose outcome was unknown is there.
func (h *hold) claimed(expect uint64) (uint64, error) {
	entries, err := h.run.loop.Journal.Read(h.run.ctx, h.run.Job, h.run.SubJob)
	if err != nil {
		return 0, fmt.Errorf("claim: %w", err)
	}
	journal := jobrun.Read(entries)
	if !journal.Holds(h.run.Run, h.run.loop.Owner) || journal.Last() <= expect {
		return 0, fmt.Errorf("claim: %w", ErrConflict)
	}
	return journal.Last(), nil
}

// renew extends the lease. One that does not get through in a third of the lease leaves the line to the records of effects; the
// next beat tries again. As long as the journal ends with this claim nobody has taken the run.
func (h *hold) renew(ctx context.Context) error {
	r := h.run
	ctx, stop := context.WithTimeout(ctx, r.Lease.Std()/3)
	defer stop()
	return h.append(ctx, jobrun.Renewed(r.Run, r.loop.Owner, r.Lease.Std()))
}

// release ends the lease at once, so that the next delivery need not wait for it.
func (h *hold) release() {
	rec := jobrun.Released(h.run.Run, h.run.loop.Owner)
	h.conclude(context.WithoutCancel(h.run.ctx), rec)
}

// ask stores the record of a question, unless it is stored.
func (h *hold) ask(ctx context.Context, rec events.JournalRecord) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	over := h.over
	h.unlock()
	if over {
		return nil
	}
	return h.append(ctx, rec)
}

// report sends the record of the ending, and gives what waits for it. Where nobody knows what the journal ends with, it is
// stored before report returns: the next run, which the event begins, must not find this one open.
func (h *hold) report(ctx context.Context, rec events.JournalRecord) (wait func()) {
	if err := h.lock(ctx); err != nil {
		return func() {}
	}
	if h.unsure {
		h.unlock()
		h.conclude(ctx, rec)
		return func() {}
	}
	defer h.unlock()
	if h.over {
		return func() {}
	}
	sent := h.run.loop.Journal.Append(h.run.Job, h.run.SubJob, rec, h.last)
	return func() { h.reported(ctx, rec, sent) }
}

// reported waits for the record of the ending. One that was not stored is tried again for a while.
func (h *hold) reported(ctx context.Context, rec events.JournalRecord, sent Pending) {
	seq, err := sent.Wait(ctx)
	if err != nil {
		h.conclude(ctx, rec)
		return
	}
	if h.lock(ctx) == nil {
		defer h.unlock()
		h.stored(rec, seq)
	}
}

// conclude appends the last record of a claim. A failure changes nothing: the next one waits for the lease, or the log
// decides whose report was first.
func (h *hold) conclude(ctx context.Context, rec events.JournalRecord) {
	ctx, stop := context.WithTimeout(ctx, lastBound)
	defer stop()
	_ = h.append(ctx, rec)
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
