package loop

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

const (
	// mostLoads is how many states are read at once.
	mostLoads = 16
	// mostRecalled is how many of the events that are read with a state are kept for the job's work, the last ones.
	mostRecalled = 1024
)

// loaded is a state that was read, or why it could not be.
type loaded struct {
	job  *job
	life int
	// kept is what the store had; seq is the last event in it, 0 where it could not be trusted, as by distrusted, and spent what the
	// job had spent by then.
	kept       Saved
	seq        uint64
	spent      events.Spent
	distrusted bool
	// state is the kept one with the log behind it, of which recalled are events that work may refer to.
	// whole is true when nothing of it is from the kept one.
	state    *graph.Job
	whole    bool
	changes  int
	recalled []*fact
	trace    string
	// orphans are events without a request before them.
	orphans []events.Event
	err     error
}

// load has the state of a job read, beside the loop: the kept one, if it can be trusted, and the log behind it. What is delivered
// meanwhile waits.
func (p *Partition) load(ctx context.Context, j *job) error {
	j.forget()
	j.loading, j.stale = true, false
	p.toLoad = append(p.toLoad, j)
	return p.serveLoads(ctx)
}

// serveLoads begins to read the states of those whose turn it is.
func (p *Partition) serveLoads(ctx context.Context) error {
	for p.loading < mostLoads && len(p.toLoad) > 0 {
		j := p.toLoad[0]
		p.toLoad[0] = nil
		p.toLoad = p.toLoad[1:]
		if err := p.at(AtLoad); err != nil {
			return err
		}
		p.Meter.Count(Reloads, "")
		p.loading++
		l := loaded{job: j, life: j.life, distrusted: j.distrusted}
		go func() { // Ends with what the store and the log answer.
			l.err = recovered(l.job.id, func() error { return p.read(ctx, &l) })
			p.loaded <- l // Has room for every load there can be.
		}()
	}
	return nil
}

// read takes the state from the store and the log. It touches nothing that belongs to the loop.
func (p *Partition) read(ctx context.Context, l *loaded) (err error) {
	id := l.job.id
	if l.kept, err = p.States.Load(ctx, id); err != nil {
		return fmt.Errorf("load state: %w", err)
	}
	var doubted *graph.Job
	if l.state, doubted, err = p.restore(ctx, id, l.distrusted, &l.kept); err != nil {
		return err
	}
	if l.state != nil {
		l.seq, l.spent = l.state.Seq, l.state.Cost
	}
	for e, err := range p.Log.EventsOf(ctx, id, l.seq) {
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if l.state == nil && e.Kind != events.KindJobRequested {
			l.orphans = append(l.orphans, e)
			continue
		}
		if l.state != nil && (e.Kind == events.KindJobAdvanced || e.Seq <= l.state.Seq) {
			continue
		}
		l.whole = l.whole || l.state == nil
		if l.state, err = p.fold(ctx, id, l.state, &e); err != nil {
			return err
		}
		l.note(&e)
		if doubted != nil && doubted.Seq == e.Seq && p.verify(id, l.state, doubted, l.kept.State) {
			l.seq, l.spent = l.state.Seq, l.state.Cost
		}
	}
	return nil
}

// note keeps what the job's memory has to know of an event.
func (l *loaded) note(e *events.Event) {
	l.changes++
	if e.Kind == events.KindJobRequested {
		l.trace = e.Trace
	}
	if f := newFact(e); f != nil {
		if len(l.recalled) == mostRecalled {
			l.recalled = append(l.recalled[:0], l.recalled[mostRecalled/2:]...)
		}
		l.recalled = append(l.recalled, f)
	}
}

// finishLoad takes a state over, and goes on with its job.
func (p *Partition) finishLoad(ctx context.Context, l loaded) error {
	p.loading--
	if crashed(l.err) {
		return l.err
	}
	j := l.job
	j.loading = false
	if p.jobs[j.id] == j {
		if l.life == j.life && !j.stale {
			if err := p.adopt(ctx, j, &l); err != nil {
				return err
			}
		} else {
			j.news = nil // The log has them, and is read again.
			p.touch(j)
		}
		j.turnsDue = nil // Who has not had his turn goes into line again.
		if j.busy() {
			p.await(j)
		}
	}
	if err := p.serveLoads(ctx); err != nil {
		return err
	}
	return p.take(ctx, Batch{})
}

// adopt makes what was read the state of a job, and gives it the turns that have come meanwhile.
func (p *Partition) adopt(ctx context.Context, j *job, l *loaded) error {
	err := p.contain(ctx, j, func() error {
		j.revision = l.kept.Revision
		switch {
		case isQuarantine(l.err):
			j.state = l.state // As far as it can be understood.
			return l.err
		case l.err != nil:
			return l.err
		case l.state == nil:
			return p.dropOrphan(ctx, j, append(l.orphans, j.news...))
		}
		p.put(j, l)
		if len(j.turnsDue) == 0 {
			return nil
		}
		return p.claim(ctx, j) // Before a run is let through: one without a slot would take the place of one that has its own.
	})
	if crashed(err) {
		return err
	}
	if err != nil {
		j.forget()
		p.postpone(j, err)
	}
	if j.state == nil {
		return nil
	}
	p.touch(j)
	if len(j.turnsDue) > 0 {
		j.state.PendingWithin(func(string) bool { return false }) // Finds what is behind; what else is owed is owed still.
	}
	for _, lane := range j.turnsDue {
		j.release(lane)
	}
	return nil
}

// put takes over what was read.
func (p *Partition) put(j *job, l *loaded) {
	if len(j.unacked) > 0 && !j.guarded { // What the kept state has may have waited for its turn.
		j.guarded, j.lateSince = true, p.now
	}
	j.state, j.whole, j.moved, j.spent, j.distrusted = l.state, l.whole, true, l.spent, false
	j.size, j.savedSeq = len(l.kept.State), l.seq
	if l.changes > 0 {
		j.dirty, j.since = l.changes, p.now
	}
	if l.trace != "" {
		j.trace = l.trace
	}
	for _, f := range l.recalled {
		p.facts.add(f)
		j.kept = append(j.kept, f.seq)
	}
}
