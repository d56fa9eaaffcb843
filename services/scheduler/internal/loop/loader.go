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
	// maxRecalled is how many of the events that are read with a state are kept for the job's work, the last ones.
	maxRecalled = 1024
)

// loader owns which states are read when: some at once, beside the loop. A state is the kept one, if it can be trusted, and the log
// behind it.
type loader struct {
	*env
	cache  *cache
	folder *folder
	// done brings states that were read, of which underWay are to come; queue are the jobs whose turn to be read comes.
	done     chan loaded
	underWay int
	queue    []*job
}

func newLoader(c *cache, f *folder) *loader {
	return &loader{env: f.env, cache: c, folder: f, done: make(chan loaded, maxLoads)}
}

// full reports whether so many wait to be read that no more ought to come.
func (l *loader) full() bool { return len(l.queue) >= maxLoads }

// loaded is a state that was read, or why it could not be.
type loaded struct {
	job *job
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

// load has the state of a job read. What is delivered meanwhile waits.
func (l *loader) load(ctx context.Context, j *job) error {
	l.cache.drop(j)
	if l.cache.move(j, loadQueued) {
		l.queue = append(l.queue, j)
	}
	return l.serve(ctx)
}

// serve begins to read the states of those whose turn it is.
func (l *loader) serve(ctx context.Context) error {
	for l.underWay < maxLoads && len(l.queue) > 0 {
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
		l.underWay++
		r := loaded{job: j, distrusted: j.distrusted}
		go func() { // Ends with what the store and the log answer.
			r.err = recovered(r.job.id, func() error { return l.read(ctx, &r) })
			l.done <- r // Has room for every load there can be.
		}()
	}
	return nil
}

// read takes the state from the store and the log. It touches nothing that belongs to the loop.
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
		if r.state, err = l.folder.fold(ctx, id, r.state, &e); err != nil {
			return err
		}
		r.note(&e)
		if doubted != nil && doubted.Seq == e.Seq && l.folder.verify(id, r.state, doubted, r.kept.State) {
			r.seq, r.spent = r.state.Seq, r.state.Cost
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
		if len(l.recalled) == maxRecalled {
			l.recalled = append(l.recalled[:0], l.recalled[maxRecalled/2:]...)
		}
		l.recalled = append(l.recalled, f)
	}
}
