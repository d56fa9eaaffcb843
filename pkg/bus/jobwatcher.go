package bus

import (
	"context"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// JobWatcher tells any number of listeners that their jobs have news in the log. One consumer serves them all, and brings headers
// only; it exists while there is a listener. A listener reads what is new from the log, so a slow one loses nothing.
type JobWatcher struct {
	bus     *Bus
	filters []string

	mu  sync.Mutex // Guards now, and the listeners of every reading.
	now *reading   // Nil without listeners.
}

// Lifecycle tells where jobs begin, end and are recovered: it brings few messages, however much a job does.
func (l *Log) Lifecycle() *JobWatcher { return l.lifecycle }

func newLifecycle(b *Bus) *JobWatcher {
	t := &JobWatcher{bus: b}
	for _, kind := range []events.Kind{
		events.KindJobRequested, events.KindJobRecovered, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped,
	} {
		t.filters = append(t.filters, b.names.Prefix()+".event.*.*."+string(kind))
	}
	return t
}

// reading is a consumer from its first listener to its last.
type reading struct {
	tail  *JobWatcher
	by    map[string]map[*Listener]struct{} // By job. Guarded by the tail's lock, like count.
	count int
	end   context.CancelFunc
	made  chan struct{} // Closed when the consumer is there.
	ended chan struct{} // Closed when its goroutine has ended; err is written before.
	err   error
}

// Listener hears of one job. Next belongs to one goroutine.
type Listener struct {
	reading *reading
	job     string
	news    chan struct{} // Holds one when seq has grown since Next gave it.
	once    sync.Once     // Guards the end.

	mu  sync.Mutex // Guards seq.
	seq uint64
}

// Listen hears of everything that is stored for a job from now on, until Stop. Errors: those of Follow.
func (t *JobWatcher) Listen(ctx context.Context, job string) (*Listener, error) {
	if err := validJob(job); err != nil {
		return nil, fmt.Errorf("listen to a job: %w", err)
	}
	l := t.join(job)
	var err error
	select {
	case <-l.reading.made:
		return l, nil
	case <-l.reading.ended:
		err = l.reading.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.Stop()
	return nil, fmt.Errorf("listen to job %s: %w", job, err)
}

func (t *JobWatcher) join(job string) *Listener {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		ctx, end := context.WithCancel(context.Background())
		t.now = &reading{tail: t, by: map[string]map[*Listener]struct{}{}, end: end, made: make(chan struct{}), ended: make(chan struct{})}
		go t.now.run(ctx) // Ended by its last listener, who waits for it, or with the bus.
	}
	l := &Listener{reading: t.now, job: job, news: make(chan struct{}, 1)}
	if t.now.by[job] == nil {
		t.now.by[job] = map[*Listener]struct{}{}
	}
	t.now.by[job][l] = struct{}{}
	t.now.count++
	return l
}

// leave is true for the last listener of a reading.
func (t *JobWatcher) leave(l *Listener) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := l.reading
	if delete(r.by[l.job], l); len(r.by[l.job]) == 0 {
		delete(r.by, l.job)
	}
	if r.count--; r.count == 0 && t.now == r {
		t.now = nil
	}
	return r.count == 0
}

// Next blocks until something behind what it gave before is stored, and gives the sequence of the latest. Errors: the
// context's own, ErrClosed when the connection was closed, ErrNotFound when the log is gone.
func (l *Listener) Next(ctx context.Context) (uint64, error) {
	select {
	case <-l.news:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.seq, nil
	case <-l.reading.ended:
		return 0, l.reading.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Stop ends the listening.
func (l *Listener) Stop() {
	l.once.Do(func() {
		if l.reading.tail.leave(l) {
			l.reading.end()
			<-l.reading.ended
		}
	})
}

func (l *Listener) hear(seq uint64) {
	l.mu.Lock()
	l.seq = max(l.seq, seq)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (r *reading) run(ctx context.Context) {
	defer close(r.ended)
	err := r.read(ctx)
	r.tail.mu.Lock()
	defer r.tail.mu.Unlock()
	if r.err = err; r.tail.now == r {
		r.tail.now = nil // The next listener tries again.
	}
}

func (r *reading) read(ctx context.Context) error {
	sub, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer sub.Stop()
	close(r.made)
	for {
		list, err := sub.Next(ctx, watchBatch)
		if err != nil {
			return err
		}
		r.tell(list)
	}
}

// open begins behind what is in the log now.
func (r *reading) open(ctx context.Context) (*Subscription, error) {
	b := r.tail.bus
	facts, err := b.Streams().Info(ctx, b.names.Log)
	if err != nil {
		return nil, err
	}
	sub, _, err := b.Log().follow(ctx, b.names.Log, r.tail.filters, FollowOptions{StartSeq: facts.LastSeq + 1}, true)
	return sub, err
}

// jobToken is where the job stands in a subject of the log.
const jobToken = 3

func (r *reading) tell(list []Delivery) {
	r.tail.mu.Lock()
	defer r.tail.mu.Unlock()
	for i := range list {
		for l := range r.by[nthToken(list[i].msg.Subject, jobToken)] { // any order: each is told.
			l.hear(list[i].Seq())
		}
	}
}
