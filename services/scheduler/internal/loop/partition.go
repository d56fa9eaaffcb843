package loop

import (
	"context"
	"time"
)

// Partition owns the jobs of some shards. Make one with New, call Run once. It defines the order in which its parts work; the
// parts own the state.
type Partition struct {
	*env
	acks       *ackTracker
	cache      *cache
	work       *workSet
	isolator   *isolator
	folder     *folder
	builder    *workBuilder
	loader     *loader
	admission  *admission
	semaphores *semaphores
	reminders  *reminders
	outbox     *outbox
	saver      *saver
	orphans    *orphans
}

// New makes a partition.
func New(s Settings, ports Ports) *Partition {
	e := &env{Settings: s, Ports: ports}
	p := &Partition{env: e, acks: &ackTracker{env: e}, cache: newCache(e), work: newWorkSet(e), folder: &folder{e}, orphans: &orphans{e}}
	p.isolator = &isolator{env: e, cache: p.cache, acks: p.acks}
	p.builder = newWorkBuilder(p.folder, p.cache.facts)
	p.loader = newLoader(p.cache, p.folder)
	p.admission = newAdmission(p.builder)
	p.semaphores = &semaphores{env: e, admission: p.admission}
	p.reminders = &reminders{env: e, acks: p.acks, work: p.work}
	p.outbox = newOutbox(p.cache, p.isolator, p.admission, p.builder)
	p.saver = newSaver(e, p.acks, p.work, p.isolator)
	return p
}

// Run works until the context ends or the feed is closed; then it saves and acknowledges the rest. It returns nil, or the hook's
// error if the hook ended it.
func (p *Partition) Run(ctx context.Context, feed <-chan Batch) error {
	work, stop := p.outlast(ctx)
	defer p.awaitAll()
	defer stop()
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		wake.Reset(p.idle())
		fetch := feed
		if p.outbox.full() {
			fetch = nil
		}
		var err error
		select {
		case <-ctx.Done():
			return p.drain(work)
		case batch, ok := <-fetch:
			if !ok {
				return p.drain(work)
			}
			err = p.step(work, batch)
		case b := <-p.outbox.acked:
			err = p.onAcks(work, b)
		case r := <-p.saver.done:
			err = p.onSaved(work, r)
		case r := <-p.admission.done:
			err = p.onReading(work, r)
		case r := <-p.loader.done:
			err = p.onLoaded(work, r)
		case <-wake.C:
			err = p.step(work, Batch{})
		}
		if err != nil {
			return err
		}
	}
}

// Replay applies one batch and waits for all its effects, for dry runs.
func (p *Partition) Replay(ctx context.Context, batch Batch) error {
	err := p.step(ctx, batch)
	for err == nil && p.underWay() {
		select {
		case b := <-p.outbox.acked:
			err = p.onAcks(ctx, b)
		case r := <-p.saver.done:
			err = p.onSaved(ctx, r)
		case r := <-p.admission.done:
			err = p.onReading(ctx, r)
		case r := <-p.loader.done:
			err = p.onLoaded(ctx, r)
		}
	}
	return err
}

// underWay reports whether results are outstanding.
func (p *Partition) underWay() bool {
	return p.saver.underWay+p.outbox.underWay+p.admission.underWay+p.loader.underWay > 0
}

// awaitAll waits for goroutines beside the loop; their results no longer matter.
func (p *Partition) awaitAll() {
	for p.underWay() {
		select {
		case <-p.outbox.acked:
			p.outbox.underWay--
		case <-p.saver.done:
			p.saver.underWay--
		case <-p.admission.done:
			p.admission.underWay--
		case <-p.loader.done:
			p.loader.underWay--
		}
	}
}

// outlast returns a context that ends a while after ctx: the current step can finish, but does not run for ever.
func (p *Partition) outlast(ctx context.Context) (work context.Context, stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late := context.AfterFunc(ctx, func() {
		bound := time.NewTimer(p.SaveLatest)
		defer bound.Stop()
		select {
		case <-bound.C:
		case <-work.Done():
		}
		cancel()
	})
	return work, func() { late(); cancel() }
}

// idle is how long the loop may sleep.
func (p *Partition) idle() time.Duration {
	idle := time.Hour
	if len(p.work.retry) > 0 {
		idle = time.Until(p.work.sweepAt)
	}
	if at, ok := p.admission.nextReading(); ok {
		idle = min(idle, time.Until(at))
	}
	return max(0, idle)
}

// step is one step of the scheduler: sort a batch into the inboxes of jobs, apply it, send pending commands, start due saves,
// acknowledge what is covered.
func (p *Partition) step(ctx context.Context, batch Batch) error {
	p.now = time.Now()
	if err := p.receive(batch); err != nil {
		return err
	}
	if err := p.advance(ctx); err != nil {
		return err
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	if err := p.saver.saveDue(ctx); err != nil {
		return err
	}
	p.endBatch()
	p.admission.measure(ctx)
	if p.Load != nil {
		p.Load.Set(p.work.backlog(), p.acks.seen)
	}
	return p.acks.flush()
}

// endBatch ends the step for the dirty jobs: jobs that still need attention go into the retry set.
func (p *Partition) endBatch() {
	p.work.endBatch(p.leave)
	p.cache.evict()
}

// leave ends the step for one job.
func (p *Partition) leave(j *job) {
	p.acks.cover(j)
	if j.busy() {
		p.work.later(j)
	}
	if p.cache.evictEnded(j) {
		p.work.done(j)
	}
}

// drain waits for outstanding results, saves everything and acknowledges it, within a time limit.
func (p *Partition) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.SaveLatest)
	defer cancel()
	p.now = time.Now()
	for {
		if err := p.saver.saveAll(ctx, p.cache.jobs); err != nil {
			return err
		}
		if !p.underWay() {
			return p.acks.flush()
		}
		var err error
		select {
		case <-ctx.Done():
			return p.acks.flush()
		case b := <-p.outbox.acked:
			err = p.onAcks(ctx, b)
		case r := <-p.saver.done:
			err = p.onSaved(ctx, r)
		case <-p.admission.done:
			p.admission.underWay--
		case <-p.loader.done:
			p.loader.underWay-- // Its deliveries are not acknowledged, and are delivered again.
		}
		if err != nil {
			return err
		}
	}
}
