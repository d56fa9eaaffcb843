package loop

import (
	"github.com/jobgraph/jobgraph/pkg/events"
)

// admit sorts a batch into news of jobs, and adds the jobs whose retry is due.
func (p *Partition) admit(batch Batch) error {
	if len(batch.Deliveries) > 0 {
		if err := p.at(AtFetched); err != nil {
			return err
		}
	}
	gap := p.gap(batch.Deliveries)
	if batch.Fresh || gap {
		p.forgetAll()
	}
	receipts := p.ledger.add(p.now, batch.Deliveries)
	for i := range batch.Deliveries {
		p.seen = max(p.seen, batch.Deliveries[i].Event.Seq)
		p.sort(&batch.Deliveries[i], &receipts[i], !gap)
	}
	if p.now.Before(p.sweep) {
		return nil
	}
	p.sweep = p.now.Add(p.SaveAfter / 4)
	p.stuck = 0
	for j := range p.waiting {
		switch {
		case !j.busy():
			delete(p.waiting, j)
		case !j.owing || !j.retryAt.After(p.now):
			p.touch(j)
		default:
			p.stuck++
		}
	}
	return nil
}

// gap reports whether somebody else got a delivery since the last batch, or within this one.
func (p *Partition) gap(deliveries []Delivery) bool {
	gap := false
	for i := range deliveries {
		seq := deliveries[i].ConsumerSeq
		gap = gap || p.last != 0 && seq != p.last+1
		p.last = seq
	}
	return gap
}

// forgetAll drops every cached state: an event may have been seen by another scheduler only.
func (p *Partition) forgetAll() {
	p.ended = ended{}
	for id, j := range p.jobs {
		j.forget()
		if !j.busy() && j.fault == nil {
			delete(p.jobs, id)
		}
	}
}

// sort files one delivery under its job. whole is true when the batch has every event since the one before it: only then may
// a job begin from deliveries, without a look at the log: one that is not known, and whose request can be read.
func (p *Partition) sort(d *Delivery, r *receipt, whole bool) {
	e := &d.Event
	if e.Job == "" {
		p.Meter.Count(Malformed, "")
		p.Logger.Warn("message in the log is no event", "subject", d.Subject)
		p.ledger.cover(r)
		return
	}
	if e.Kind == events.KindJobAdvanced {
		p.ledger.cover(r) // Our own telling; it changes no state.
		return
	}
	j := p.jobs[e.Job]
	if j == nil && p.ended.settles(e) {
		p.Meter.Count(Duplicates, string(e.Kind))
		p.ledger.cover(r)
		return
	}
	if j == nil {
		j = &job{id: e.Job}
		p.jobs[e.Job] = j
	}
	requested := d.First && e.Kind == events.KindJobRequested
	if j.fault != nil {
		if definition, _ := events.Define(e.Kind); !definition.Control && !requested {
			p.ledger.cover(r) // The log keeps it; whoever repairs the job reads it there.
			return
		}
		j.fault = nil // Somebody asks, or the job was deleted and its id taken again.
	}
	if !d.First {
		if held := j.holds(e.Seq); held != nil {
			// The event was delivered here before, and by the consumer's count no other scheduler had anything since: the state in
			// memory is as good as it was.
			p.ledger.again(held, r)
			p.Meter.Count(Duplicates, string(e.Kind))
			return
		}
	}
	if j.loading {
		j.stale = j.stale || requested || !d.First
	}
	begins := requested && whole && e.Fault == nil && j.state == nil && !j.busy()
	if j.state != nil && e.Seq > j.state.Seq && (requested || !d.First) {
		// Either the id was free again, and the job in memory is a deleted one, or this is no first event: the log tells. Or
		// somebody else had this event first, and perhaps others before it.
		j.forget()
	}
	if j.state != nil || begins || j.loading || len(j.news) > 0 {
		j.news = append(j.news, *e)
	} // Otherwise the state is loaded, and the log has the event.
	j.unacked = append(j.unacked, r)
	p.touch(j)
}

// touch puts a job on the turn's list.
func (p *Partition) touch(j *job) {
	j.used = p.now
	if !j.queued {
		j.queued = true
		p.touched = append(p.touched, j)
	}
}
