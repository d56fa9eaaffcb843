package loop

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

const (
	// maxLoads is how many states are read at once.
	maxLoads = 16
	// maxRecalled is how many of the loaded events, the last ones, are kept for building work.
	maxRecalled = 1024
)

// loader decides which states are loaded when: a limited number at once, outside the loop. A loaded state is the saved one, if it
// can be trusted, plus the log after it.
type loader struct {
	*env
	beside *beside
	cache  *cache
	folder *folder
	// queue are the jobs that wait to be loaded.
	queue []*job
}

// full reports whether so many jobs wait that no more should be added.
func (l *loader) full() bool { return len(l.queue) >= maxLoads }

// loaded is a loaded state, or the reason why it could not be loaded.
type loaded struct {
	job *job
	// kept is the saved state; seq is its last event, 0 if the state was not trusted; spent is what the job had spent by then.
	kept       Saved
	seq        uint64
	spent      events.Spent
	distrusted bool
	// state is the saved state plus the log; recalled are those of its events that work may refer to. whole is true if the saved
	// state was not used.
	state    *graph.Job
	whole    bool
	changes  int
	recalled []*fact
	// orphans are the events of a job whose request is not in the log.
	orphans []events.Event
	// said are items of those events for the conversation of the job's session.
	said []Said
	err  error
}

// load queues a job for loading. Events that arrive meanwhile wait in its inbox.
func (l *loader) load(ctx context.Context, j *job) error {
	l.cache.drop(j)
	if l.cache.move(j, loadQueued) {
		l.queue = append(l.queue, j)
	}
	return l.serve(ctx)
}

// serve starts loading queued jobs while there is capacity.
func (l *loader) serve(ctx context.Context) error {
	for l.beside.underWay[loads] < maxLoads && len(l.queue) > 0 {
		j := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		if err := l.at(AtLoad); err != nil {
			return err
		}
		if !l.cache.move(j, loading) {
			continue
		}
		l.Meter.Count(Reloads, "")
		r := &loaded{job: j, distrusted: j.basis == distrusted}
		l.beside.begin(loads, func() result { // Ends when store and log have answered.
			r.err = recovered(r.job.id, func() error { return l.read(ctx, r) })
			return r
		})
	}
	return nil
}

// read loads the state from the store and the log. It touches nothing that the loop owns.
func (l *loader) read(ctx context.Context, r *loaded) (err error) {
	id := r.job.id
	if r.kept, err = l.States.Load(ctx, id); err != nil {
		return fmt.Errorf("load state: %w", err)
	}
	var doubted *graph.Job
	if r.state, doubted, err = l.folder.restore(ctx, id, r.distrusted, &r.kept); err != nil {
		return err
	}
	if r.state != nil {
		r.seq, r.spent = r.state.Seq, r.state.Cost
	}
	for e, err := range l.Log.EventsOf(ctx, id, r.seq) {
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if r.state == nil && e.Kind != events.KindJobRequested {
			r.orphans = append(r.orphans, e)
			continue
		}
		if r.state != nil && (e.Kind == events.KindJobAdvanced || e.Seq <= r.state.Seq) {
			continue
		}
		r.whole = r.whole || r.state == nil
		var said []Said
		if r.state, said, err = l.folder.fold(ctx, id, r.state, &e); err != nil {
			return err
		}
		r.said = append(r.said, said...)
		r.note(&e)
		if doubted != nil && doubted.Seq == e.Seq && l.folder.verify(id, r.state, doubted, r.kept.State) {
			r.seq, r.spent = r.state.Seq, r.state.Cost
		}
	}
	return nil
}

// note records what the cache needs to know about an event.
func (l *loaded) note(e *events.Event) {
	l.changes++
	if f := newFact(e); f != nil {
		if len(l.recalled) == maxRecalled {
			l.recalled = append(l.recalled[:0], l.recalled[maxRecalled/2:]...)
		}
		l.recalled = append(l.recalled, f)
	}
}
