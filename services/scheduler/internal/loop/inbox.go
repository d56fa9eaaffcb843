package loop

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// receive sorts a batch into the inboxes of jobs, and marks the jobs whose retry is due as dirty.
func (p *Partition) receive(batch Batch) error {
	if len(batch.Deliveries) > 0 {
		if err := p.at(AtFetched); err != nil {
			return err
		}
	}
	gap := p.acks.gap(batch.Deliveries)
	if batch.Fresh || gap {
		p.cache.dropAll()
		if p.Passed != nil {
			p.Passed()
		}
	}
	unacked := p.acks.add(batch.Deliveries)
	for i := range batch.Deliveries {
		p.sort(&batch.Deliveries[i], &unacked[i], !gap)
	}
	p.work.sweep()
	return nil
}

// sort files one delivery under its job. whole is true if the batch contains every event since the previous batch. Only then can a
// new job start from deliveries without reading the log, if its request can be read.
func (p *Partition) sort(d *Delivery, u *unacked, whole bool) {
	e := &d.Event
	if !p.concerns(d) {
		p.acks.markAcked(u)
		return
	}
	j := p.cache.get(e.Job)
	requested := d.First && e.Kind == events.KindJobRequested
	if j.phase == quarantined {
		if definition, _ := events.Define(e.Kind); !definition.Control && !requested {
			p.acks.markAcked(u) // The log has it; a repair will read it there.
			return
		}
		p.cache.readmit(j) // A control event requests it, or the job was deleted and its id is used again.
	}
	if !d.First && p.acks.merge(&j.acks, u) {
		// The event was delivered here before, and according to the consumer's count no other scheduler got anything since: the
		// state in memory is valid.
		p.Meter.Count(Duplicates, string(e.Kind))
		return
	}
	begins := requested && whole && e.Fault == nil && j.phase == cold && !j.busy()
	if requested || !d.First {
		// Either the id is used again and the job in memory was deleted, or this is not the first delivery. The log decides.
		// Another scheduler may have received this event first, and earlier ones too.
		p.cache.doubt(j, e.Seq)
	}
	if j.state != nil || begins || j.loading() || len(j.inbox) > 0 {
		j.inbox = append(j.inbox, *e)
	} // Otherwise the state is loaded, and the log has the event.
	j.acks.add(u)
	p.work.touch(j)
}

// concerns reports whether a delivery has to be applied. Messages that are not events, and events that a saved state is known to
// contain, need not be.
func (p *Partition) concerns(d *Delivery) bool {
	e := &d.Event
	switch {
	case e.Job == "":
		p.Meter.Count(Malformed, "")
		p.Logger.Warn("message in the log is not an event", "subject", d.Subject)
		return false
	case e.Kind == events.KindJobAdvanced: // Published by the scheduler itself; it changes no state.
		return false
	case p.cache.settles(e):
		p.Meter.Count(Duplicates, string(e.Kind))
		return false
	}
	return true
}

// advance applies the new events of every dirty job: from its inbox if its state is in memory, otherwise from store and log.
func (p *Partition) advance(ctx context.Context) error {
	for _, j := range p.work.dirty {
		if j.inFlight() || j.loading() || j.phase == quarantined {
			continue
		}
		err := p.isolator.contain(ctx, j, func() error { return p.catchUp(ctx, j) })
		if crashed(err) {
			return err
		}
		if err != nil {
			p.cache.drop(j)
			p.work.postpone(j, err)
		}
	}
	return p.at(AtStepped)
}

func (p *Partition) catchUp(ctx context.Context, j *job) error {
	if j.phase == cold && len(j.inbox) == 0 {
		return p.loader.load(ctx, j)
	}
	inbox := j.inbox
	j.inbox = nil
	for i := range inbox {
		if err := p.apply(ctx, j, &inbox[i]); err != nil {
			return err
		}
		inbox[i] = events.Event{}
	}
	return nil
}

// apply applies one event. A repeated event changes nothing.
func (p *Partition) apply(ctx context.Context, j *job, e *events.Event) error {
	if e.Kind == events.KindJobAdvanced && j.state != nil {
		return nil // job.advanced is for people; the state already contains what it says.
	}
	if j.state != nil && e.Seq <= j.state.Seq {
		p.Meter.Count(Duplicates, string(e.Kind))
		return nil
	}
	state, said, err := p.folder.fold(ctx, j.id, j.state, e)
	if err != nil {
		return err
	}
	j.said = append(j.said, said...)
	p.cache.hold(j, state)
	p.applied(j, e)
	return nil
}

// applied records what the cache needs to know about an event that was just applied.
func (p *Partition) applied(j *job, e *events.Event) {
	if d, ok := e.Data.(*events.TimerFired); ok && d.Timer == graph.TurnTimer() {
		j.reminder.armed = false // Our clock may be behind the server's.
	}
	if e.Kind == events.KindSubJobReported && p.Takers != nil {
		if pool, expert := j.state.Address(e.SubJob); expert != "" {
			p.outbox.paces.note(address{pool, expert}, e.Report())
		}
	}
	p.builder.keep(j, e)
	j.changed = true
	j.save.change(p.now)
}
