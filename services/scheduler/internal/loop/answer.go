package loop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// onAcks tells the jobs of a batch what was delivered, and takes them further. A job for which something has come by every answer would
// be in flight again, and never saved: one that ought to be is, before its inbox is read.
func (p *Partition) onAcks(ctx context.Context, b *inFlightBatch) error {
	if err := p.settle(ctx, b); err != nil {
		return err
	}
	if slices.ContainsFunc(b.jobs, p.pressed) {
		if err := p.send(ctx); err != nil {
			return err
		}
		if err := p.saver.saveDue(ctx); err != nil {
			return err
		}
	}
	return p.step(ctx, Batch{})
}

// pressed reports whether a job with something in its inbox ought to be saved first.
func (p *Partition) pressed(j *job) bool {
	return len(j.inbox) > 0 && p.saver.saveable(j) && (p.saver.due(j) || p.acks.full())
}

// settle tells the jobs of a batch what was delivered, and touches those that may go on.
func (p *Partition) settle(ctx context.Context, b *inFlightBatch) error {
	p.outbox.underWay--
	p.now = time.Now()
	if err := b.crashed(); err != nil {
		return err
	}
	if err := p.at(AtPublished); err != nil {
		return err
	}
	for _, j := range b.jobs {
		p.cache.acked(j)
	}
	for i := range b.pending {
		s := &b.pending[i]
		if s.job.state == nil {
			continue // Something before it in this batch, or while it was in flight, made the state be dropped.
		}
		if err := p.outbox.settle(ctx, s); crashed(err) {
			return err
		} else if err != nil && !s.job.retry.pending() { // Many at once are one failure.
			p.work.postpone(s.job, fmt.Errorf("%s %s: %w", s.cmd.Kind, s.cmd.SubJob, err))
		} else if err == nil && s.deleted() {
			p.forget(s.job)
		}
	}
	if p.Trace != nil {
		endSteps(b.jobs, b.pending)
	}
	for _, j := range b.jobs {
		switch {
		case j.phase == gone: // It is deleted; a job that has its id now is another one.
		case j.retry.pending():
			p.work.later(j)
		default:
			j.changed = j.state != nil
			p.work.touch(j)
		}
	}
	return nil
}

// forget takes a job out of memory that is deleted. What came for it since is of no job, or of the next one with its id: the log says.
func (p *Partition) forget(j *job) {
	if len(j.inbox) > 0 {
		p.cache.drop(j)
		return
	}
	p.release(j)
}

// release takes a job out of memory that is no more, and acknowledges its deliveries.
func (p *Partition) release(j *job) {
	p.acks.markAll(&j.acks)
	p.work.done(j)
	p.cache.drop(j)
	p.cache.remove(j)
	j.retry = jobRetry{}
}

// onSaved takes the result of a save: what it covers may be acknowledged, and the next in the queue has its turn.
func (p *Partition) onSaved(ctx context.Context, r saveResult) error {
	j := r.job
	p.saver.underWay--
	j.save.phase = saveIdle
	if err := p.at(AtSaved); err != nil {
		return err
	}
	p.now = time.Now()
	if !p.saver.finish(r) {
		p.cache.drop(j)
		if isConflict(r.err) {
			p.work.retryNow(j, r.err)
		} else {
			p.work.postpone(j, r.err)
		}
	}
	if p.saver.due(j) {
		p.saver.enqueue(j)
	}
	p.leave(j)
	if err := p.saver.serve(ctx); err != nil {
		return err
	}
	return p.acks.flush()
}

// onReading takes a reading of a pool's queue over, and goes on with the jobs that it makes room for.
func (p *Partition) onReading(ctx context.Context, r reading) error {
	p.admission.underWay--
	r.limit.read(time.Now(), r.depth, r.err)
	return p.step(ctx, Batch{})
}

// onLoaded takes a state over, and goes on with its job.
func (p *Partition) onLoaded(ctx context.Context, r loaded) error {
	p.loader.underWay--
	if crashed(r.err) {
		return r.err
	}
	if j := r.job; j.phase != gone {
		if p.cache.loaded(j) {
			if err := p.adopt(ctx, j, &r); err != nil {
				return err
			}
		} else {
			j.inbox = nil // The log has them, and is read again.
			p.work.touch(j)
		}
		j.limits.turns = nil // One that has not had its turn is queued again.
		if j.busy() {
			p.work.later(j)
		}
	}
	if err := p.loader.serve(ctx); err != nil {
		return err
	}
	return p.step(ctx, Batch{})
}

// adopt makes what was read the state of a job, and gives it the turns that have come meanwhile.
func (p *Partition) adopt(ctx context.Context, j *job, r *loaded) error {
	err := p.isolator.contain(ctx, j, func() error {
		j.save.revision = r.kept.Revision
		switch {
		case r.err != nil:
			if r.state != nil && isQuarantine(r.err) {
				p.cache.hold(j, r.state) // As far as it can be understood.
			}
			return r.err
		case r.state == nil:
			if err := p.orphans.drop(ctx, j.id, append(r.orphans, j.inbox...)); err != nil {
				return err
			}
			p.release(j)
			return nil
		}
		if len(j.acks.open) > 0 { // What the kept state has may have waited for its turn.
			p.acks.keep(&j.acks)
		}
		p.cache.hold(j, r.state)
		p.cache.adopt(j, r)
		if len(j.limits.turns) == 0 {
			return nil
		}
		return p.semaphores.acquire(ctx, j) // Before a run is let through: one without a slot would take the place of one that has its own.
	})
	if crashed(err) {
		return err
	}
	if err != nil {
		p.cache.drop(j)
		p.work.postpone(j, err)
	}
	if j.state == nil {
		return nil
	}
	p.work.touch(j)
	p.admission.takeTurns(j)
	return nil
}
