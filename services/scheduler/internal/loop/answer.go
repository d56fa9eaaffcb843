package loop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// onAcks handles the acks of a batch and continues with its jobs. A job that gets new events with every ack would always be in
// flight and never saved, so a job whose save is due is saved before its inbox is read.
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

// pressed reports whether a job with new events should be saved first.
func (p *Partition) pressed(j *job) bool {
	return len(j.inbox) > 0 && p.saver.saveable(j) && (p.saver.due(j) || p.acks.full())
}

// settle marks the commands of a batch as delivered, and marks the jobs that can continue as dirty.
func (p *Partition) settle(ctx context.Context, b *inFlightBatch) error {
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
			continue // An earlier command of this batch, or an event in the meantime, has made the loop drop the state.
		}
		if err := p.outbox.settle(ctx, s); crashed(err) {
			return err
		} else if err != nil && !s.job.retry.pending() { // Many failures at once count as one.
			p.work.postpone(s.job, fmt.Errorf("%s %s: %w", s.cmd.Kind, s.cmd.SubJob, err))
		} else if err == nil && s.deleted() {
			p.forget(s.job)
		}
	}
	b.endSpans()
	for _, j := range b.jobs {
		switch {
		case j.phase == gone: // The job was deleted; a job with the same id is another job.
		case j.retry.pending():
			p.work.later(j)
		default:
			j.changed = j.state != nil
			p.work.touch(j)
		}
	}
	return nil
}

// forget removes a deleted job from memory. Events that have arrived since then belong either to no job or to the next job with the
// same id; only the log can tell.
func (p *Partition) forget(j *job) {
	if len(j.inbox) > 0 {
		p.cache.drop(j)
		return
	}
	p.release(j)
}

// release removes a job that no longer exists, and acknowledges its deliveries.
func (p *Partition) release(j *job) {
	p.acks.markAll(&j.acks)
	p.work.done(j)
	p.cache.drop(j)
	p.cache.remove(j)
	j.retry = jobRetry{}
}

// onSaved handles the result of a save: it marks covered deliveries, and starts the next queued save.
func (p *Partition) onSaved(ctx context.Context, r *saveResult) error {
	j := r.job
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

// onReading takes over the reading of a pool's queue, and continues with the jobs that it admits.
func (p *Partition) onReading(ctx context.Context, r *reading) error {
	r.limit.read(time.Now(), r.asked, r.depth, r.err)
	return p.step(ctx, Batch{})
}

// onLoaded takes over a loaded state, and continues with its job.
func (p *Partition) onLoaded(ctx context.Context, r *loaded) error {
	if crashed(r.err) {
		return r.err
	}
	if j := r.job; j.phase != gone {
		if p.cache.loaded(j) {
			if err := p.adopt(ctx, j, r); err != nil {
				return err
			}
		} else {
			j.inbox = nil // The log has these events and will be read again.
			p.work.touch(j)
		}
		j.limits.turns = nil // A job that has not had its turn will be queued again.
		if j.busy() {
			p.work.later(j)
		}
	}
	if err := p.loader.serve(ctx); err != nil {
		return err
	}
	return p.step(ctx, Batch{})
}

// adopt puts a loaded state into memory, and gives the job the turns that have come meanwhile.
func (p *Partition) adopt(ctx context.Context, j *job, r *loaded) error {
	err := p.isolator.contain(ctx, j, func() error {
		j.save.revision = r.kept.Revision
		switch {
		case r.err != nil:
			if r.state != nil && isQuarantine(r.err) {
				p.cache.hold(j, r.state) // The state covers the events that this scheduler understands.
			}
			return r.err
		case r.state == nil:
			if err := p.orphans.drop(ctx, j.id, append(r.orphans, j.inbox...)); err != nil {
				return err
			}
			p.release(j)
			return nil
		}
		if len(j.acks.open) > 0 { // Work in the saved state may have been waiting for its turn.
			p.acks.keep(&j.acks)
		}
		p.cache.hold(j, r.state)
		p.cache.adopt(j, r)
		if len(j.limits.turns) == 0 {
			return nil
		}
		return p.semaphores.acquire(ctx, j) // This comes before admission: a run without a slot would take the place of one that has a slot.
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
