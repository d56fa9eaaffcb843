package loop

import "context"

// send sends what the dirty jobs owe, one batch for all of them at once. It does not wait for the acks: the jobs of a batch are in flight until
// its acks are here, and what they owe then is the next one. A job whose command fails is tried again later; the others go on.
func (p *Partition) send(ctx context.Context) error {
	list := make([]*job, 0, len(p.work.dirty))
	p.admission.refused = false
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

// rebalance lets through what there is room for behind the jobs that have just published, until none waits, or the queues
// are full, or something cannot be published.
func (p *Partition) rebalance(ctx context.Context) error {
	if !p.admission.waits() {
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

// refill lets those through whose turn it is, as long as there is room, and gives the jobs that have something to publish now.
func (p *Partition) refill(ctx context.Context) (list []*job, err error) {
	for _, limit := range p.admission.limits { // any order: pools have nothing in common.
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
			if j.changed && !j.limits.listed && !j.inFlight() {
				j.limits.listed, j.changed = true, false
				list = append(list, j)
			}
			p.admission.count(ctx, j)
		}
	}
	for _, j := range list {
		j.limits.listed = false
	}
	return list, nil
}

// fetch gives a job that has its turn in a limit; nil when it is no more, or left alone, or in trouble that it comes back from by
// itself. One that is not in memory is loaded first, and has its turn then.
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
