package loop

import (
	"context"
	"slices"
)

// send sends the pending commands of the dirty jobs, in one batch. It does not wait for the acks: the jobs are in flight until
// then, and commands that become pending meanwhile form the next batch. A job whose command fails is tried again later; the others
// continue.
func (p *Partition) send(ctx context.Context) error {
	list := make([]*job, 0, len(p.work.dirty))
	for _, j := range p.work.dirty {
		p.admission.count(ctx, j)
		if j.phase != ready || !j.changed && !j.retry.pending() {
			continue
		}
		j.changed = false
		j.retry.clear()
		err := p.isolator.contain(ctx, j, func() error { return p.semaphores.acquire(ctx, j) })
		switch {
		case crashed(err):
			return err
		case err != nil:
			p.work.postpone(j, err)
		case j.state != nil:
			list = append(list, j)
		}
	}
	if err := p.outbox.send(ctx, list); err != nil {
		return err
	}
	if err := p.rebalance(ctx); err != nil {
		return err
	}
	return p.reminders.arm(ctx)
}

// rebalance admits waiting work for which there is room, until none waits, the queues are full, or a command cannot be published.
func (p *Partition) rebalance(ctx context.Context) error {
	// Work that was held back just now is in no queue yet.
	if !p.admission.waits() && !slices.ContainsFunc(p.work.dirty, (*job).late) {
		return nil
	}
	p.admission.fit()
	for {
		trouble := false
		for _, j := range p.work.dirty {
			p.admission.count(ctx, j)
			trouble = trouble || j.retry.pending()
		}
		if trouble {
			return nil
		}
		list, err := p.refill(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := p.outbox.send(ctx, list); err != nil {
			return err
		}
	}
}

// refill admits the jobs whose turn it is, as long as there is room, and returns those that have something to publish now.
func (p *Partition) refill(ctx context.Context) (list []*job, err error) {
	listed := map[*job]bool{}
	for _, limit := range p.admission.limits { // any order: pools are independent.
		for !limit.full() && !p.loader.full() {
			id, ok := limit.queue.Next()
			if !ok {
				break
			}
			j, err := p.fetch(ctx, limit, id)
			if err != nil {
				return list, err
			}
			if j == nil {
				continue
			}
			j.release(limit)
			if j.changed && !listed[j] && !j.inFlight() {
				listed[j], j.changed = true, false
				list = append(list, j)
			}
			p.admission.count(ctx, j)
		}
	}
	return list, nil
}

// fetch returns the job whose turn it is in a limit; nil if it was deleted, is quarantined, or waits for a retry. A job that is not
// in memory is loaded first, and gets its turn then.
func (p *Partition) fetch(ctx context.Context, limit *queueLimit, id string) (*job, error) {
	j := p.cache.get(id)
	p.work.touch(j)
	switch {
	case j.retry.pending() || j.phase == quarantined || j.phase == inFlightStale:
		return nil, nil
	case j.state != nil:
		return j, nil
	}
	if !j.loading() {
		if err := p.loader.load(ctx, j); err != nil {
			return nil, err
		}
	}
	p.admission.promise(j, limit)
	return nil, nil
}
