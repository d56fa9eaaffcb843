package loop

import (
	"context"
	"time"
)

// Partition owns the jobs of some shards. Make one with New, call Run once. It defines the order in which its parts work; the
// parts own the state.
type Partition struct {
	*env
	beside     *beside
	acks       *ackTracker
	facts      *facts
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

// New makes a partition without jobs; Run takes them from its feed.
func New(s Settings, ports Ports) *Partition {
	e := &env{Settings: s, Ports: ports}
	p := &Partition{
		env: e, beside: newBeside(), acks: &ackTracker{env: e}, facts: newFacts(e), work: newWorkSet(e), folder: &folder{e}, orphans: &orphans{e},
	}
	p.cache = newCache(p.facts)
	p.isolator = &isolator{env: e, cache: p.cache, acks: p.acks}
	p.builder = &workBuilder{env: e, folder: p.folder, facts: p.facts}
	p.loader = &loader{env: e, beside: p.beside, cache: p.cache, folder: p.folder}
	p.admission = &admission{env: e, beside: p.beside, builder: p.builder, limits: map[string]*queueLimit{}}
	p.semaphores = &semaphores{env: e, admission: p.admission}
	p.reminders = &reminders{env: e, acks: p.acks, work: p.work}
	p.outbox = &outbox{env: e, beside: p.beside, cache: p.cache, isolator: p.isolator, admission: p.admission, builder: p.builder, paces: paces{}}
	p.saver = &saver{env: e, beside: p.beside, acks: p.acks, work: p.work, isolator: p.isolator}
	return p
}

// Run works until the context ends or the feed is closed; then it saves and acknowledges the rest. It returns nil, or the hook's
// error if the hook ended it.
func (p *Partition) Run(ctx context.Context, feed <-chan Batch) error {
	work, stop := p.outlast(ctx)
	defer p.beside.awaitAll()
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
		case r := <-p.beside.results:
			err = p.take(work, r)
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
	for err == nil && !p.beside.idle() {
		err = p.take(ctx, <-p.beside.results)
	}
	return err
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
		p.Load.Set(p.work.backlog(), batch.seen())
	}
	return p.acks.flush()
}

// endBatch ends the step for the dirty jobs: jobs that still need attention go into the retry set.
func (p *Partition) endBatch() {
	p.work.endBatch(p.leave)
	p.cache.evict()
}

// leave ends the step for one job: it marks covered deliveries, and puts the job into the retry set or evicts it.
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
		if p.beside.idle() {
			return p.acks.flush()
		}
		select {
		case <-ctx.Done():
			return p.acks.flush()
		case r := <-p.beside.results:
			switch r.(type) {
			case *inFlightBatch, *saveResult:
				if err := p.take(ctx, r); err != nil {
					return err
				}
			default: // The deliveries of a job that was loaded are not acknowledged, and are delivered again.
				p.beside.done(r)
			}
		}
	}
}
