package bus

import (
	"context"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// JobWatcher notifies any number of listeners about new events of their jobs. One consumer, which gets headers only, serves
// all; it exists while there is a listener. A listener reads the events themselves from the log, so a slow one loses
// nothing.
type JobWatcher struct {
	bus     *Bus
	stream  string
	filters []string
	token   int // The index of the job's token in a subject.

	mu  sync.Mutex // Guards now, and the listeners of every reading.
	now *reading   // nil without listeners.
}

// Lifecycle notifies about beginnings, ends and recoveries of jobs: few messages, however much a job does.
func (l *Log) Lifecycle() *JobWatcher { return l.lifecycle }

func newLifecycle(b *Bus) *JobWatcher {
	t := &JobWatcher{bus: b, stream: b.names.Log, token: jobToken}
	for _, kind := range []events.Kind{
		events.KindJobRequested, events.KindJobRecovered, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped,
	} {
		t.filters = append(t.filters, b.names.Prefix()+".event.*.*."+string(kind))
	}
	return t
}

// reading is a consumer, from its first listener to its last.
type reading struct {
	tail  *JobWatcher
	by    map[string]map[*Listener]struct{} // The listeners by job; guarded by the watcher's lock, like count.
	count int
	end   context.CancelFunc
	made  chan struct{} // Closed when the consumer exists.
	ended chan struct{} // Closed when its goroutine has ended; err is written before.
	err   error
}

// Listener is notified about one job. Next belongs to one goroutine.
type Listener struct {
	reading *reading
	job     string
	news    chan struct{} // Holds one token if seq has grown since Next returned it.
	once    sync.Once     // Makes Stop idempotent.

	mu  sync.Mutex // Guards seq.
	seq uint64
}

// Listen notifies about everything that is stored for a job from now on, until Stop. Errors: those of Follow.
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
		go t.now.run(ctx) // Ends with its last listener, which waits for it, or with the bus.
	}
	l := &Listener{reading: t.now, job: job, news: make(chan struct{}, 1)}
	if t.now.by[job] == nil {
		t.now.by[job] = map[*Listener]struct{}{}
	}
	t.now.by[job][l] = struct{}{}
	t.now.count++
	return l
}

// leave removes a listener; it reports whether that was the last one.
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

// Next blocks until something newer than its last result is stored, and returns the latest sequence. Errors: the context's,
// ErrClosed if the connection was closed, ErrNotFound if the log was deleted.
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

// Stop ends the notifications.
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

// open creates the consumer, starting after the present end of the stream.
func (r *reading) open(ctx context.Context) (*Subscription, error) {
	b := r.tail.bus
	facts, err := b.Streams().Info(ctx, r.tail.stream)
	if err != nil {
		return nil, err
	}
	sub, _, err := b.Log().follow(ctx, r.tail.stream, r.tail.filters, FollowOptions{StartSeq: facts.LastSeq + 1}, true)
	return sub, err
}

// jobToken is the index of the job's token in a subject of the log.
const jobToken = 3

func (r *reading) tell(list []Delivery) {
	r.tail.mu.Lock()
	defer r.tail.mu.Unlock()
	for i := range list {
		for l := range r.by[nthToken(list[i].msg.Subject, r.tail.token)] { // any order: each gets the same notification.
			l.hear(list[i].Seq())
		}
	}
}
