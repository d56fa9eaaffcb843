package stream

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Log is what feeds read.
type Log interface {
	// Head returns the sequence of a job's last event.
	Head(ctx context.Context, job string) (uint64, error)
	// Events yields the events after a sequence, up to now.
	Events(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
	// Watch yields the events from a sequence on, without end.
	Watch(ctx context.Context, job string, from uint64) iter.Seq2[events.Event, error]
}

// Frame is an event in the form that streams send.
type Frame struct {
	// Seq is its sequence, Kind its kind, Text its JSON.
	Seq  uint64
	Kind events.Kind
	Text []byte

	prev uint64 // The sequence of the job's previous event, or the last one in the log when the feed began.
}

// frameOf encodes an event.
func frameOf(e *events.Event) (Frame, error) {
	text, err := json.Marshal(verb.EventOf(e))
	return Frame{Seq: e.Seq, Kind: e.Kind, Text: text}, err
}

// Feeds has the feeds of all jobs with a stream. It is safe for concurrent use.
type Feeds struct {
	log Log

	mu sync.Mutex // Guards by, and the readers of every feed.
	by map[string]*feed
}

// NewFeeds returns feeds of a log.
func NewFeeds(log Log) *Feeds { return &Feeds{log: log, by: map[string]*feed{}} }

// feed reads one job for all of its streams, as long as there are any.
type feed struct {
	job     string
	readers map[*Reader]struct{}
	end     context.CancelFunc
	made    chan struct{} // Closed when from is known or the feed has failed.
	ended   chan struct{} // Closed when its goroutine has ended, after err is written.
	err     error
}

// ahead is how many frames a reader may lag behind before it reads the log again.
const ahead = 64

// settleFor is the pause before the log is read again because it lacks an event that the feed has seen: a server of a cluster may
// lag behind.
const settleFor = 20 * time.Millisecond

// Reader is one stream's view of a feed. It belongs to one goroutine, which must call Close.
type Reader struct {
	feeds  *Feeds
	feed   *feed
	frames chan Frame
	behind atomic.Bool // Set if a frame did not fit into frames.
}

// Open joins the feed of a job. Errors: those of Log.Head.
func (f *Feeds) Open(ctx context.Context, job string) (*Reader, error) {
	r := &Reader{feeds: f, frames: make(chan Frame, ahead)}
	f.mu.Lock()
	if r.feed = f.by[job]; r.feed == nil {
		ctx, end := context.WithCancel(context.Background())
		r.feed = &feed{job: job, readers: map[*Reader]struct{}{}, end: end, made: make(chan struct{}), ended: make(chan struct{})}
		f.by[job] = r.feed
		go f.run(ctx, r.feed) // Ends with its last reader, which waits for it, or with the log.
	}
	r.feed.readers[r] = struct{}{}
	f.mu.Unlock()
	select {
	case <-r.feed.made:
	case <-ctx.Done():
		r.Close()
		return nil, ctx.Err()
	}
	select {
	case <-r.feed.ended:
		r.Close()
		return nil, r.feed.err
	default:
		return r, nil
	}
}

// Close leaves the feed; the last reader ends it.
func (r *Reader) Close() {
	f := r.feeds
	f.mu.Lock()
	delete(r.feed.readers, r)
	last := len(r.feed.readers) == 0
	if last && f.by[r.feed.job] == r.feed {
		delete(f.by, r.feed.job)
	}
	f.mu.Unlock()
	if last {
		r.feed.end()
		<-r.feed.ended
	}
}

// run reads the log for a feed.
func (f *Feeds) run(ctx context.Context, of *feed) {
	defer close(of.ended)
	err := f.read(ctx, of)
	f.mu.Lock()
	defer f.mu.Unlock()
	if of.err = err; f.by[of.job] == of {
		delete(f.by, of.job) // The next stream tries again.
	}
}

func (f *Feeds) read(ctx context.Context, of *feed) error {
	made := sync.OnceFunc(func() { close(of.made) })
	defer made()
	head, err := f.log.Head(ctx, of.job)
	if err != nil {
		return err
	}
	made()
	for e, err := range f.log.Watch(ctx, of.job, head+1) {
		if err != nil {
			return err
		}
		frame, err := frameOf(&e)
		if err != nil {
			return err
		}
		frame.prev, head = head, e.Seq
		f.pass(of, frame)
	}
	return nil
}

// pass hands a frame to the readers of a feed without waiting for them.
func (f *Feeds) pass(of *feed, frame Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range of.readers { // any order: each gets the same frame.
		select {
		case r.frames <- frame:
		default:
			r.behind.Store(true)
		}
	}
}

// Send calls send for every event after a sequence, in order, each once, and idle when there is none and from time to time, until
// ctx ends or one of them fails. Errors: theirs, the context's, those of the log.
func (r *Reader) Send(ctx context.Context, after uint64, every time.Duration, send func(Frame) error, idle func(quiet bool) error) error {
	beat := time.NewTicker(every)
	defer beat.Stop()
	after, err := r.past(ctx, after, send)
	for err == nil {
		if len(r.frames) == 0 {
			if r.behind.Swap(false) {
				after, err = r.past(ctx, after, send)
				continue
			}
			if err = idle(false); err != nil {
				break
			}
		}
		select {
		case frame := <-r.frames:
			after, err = r.take(ctx, frame, after, send)
		case <-beat.C:
			err = idle(true)
		case <-r.feed.ended:
			err = r.feed.err
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// take sends a frame, preceded by the events that are missing before it.
func (r *Reader) take(ctx context.Context, frame Frame, after uint64, send func(Frame) error) (uint64, error) {
	for frame.prev > after {
		last, err := r.past(ctx, after, send)
		if err != nil {
			return last, err
		}
		if after = last; frame.prev <= after {
			break
		}
		select {
		case <-time.After(settleFor):
		case <-ctx.Done():
			return after, ctx.Err()
		}
	}
	if frame.Seq <= after {
		return after, nil // The frame was read from the log, and sent, already.
	}
	return frame.Seq, send(frame)
}

// past sends the events of the log after a sequence, and returns the last sequence sent.
func (r *Reader) past(ctx context.Context, after uint64, send func(Frame) error) (uint64, error) {
	for e, err := range r.feeds.log.Events(ctx, r.feed.job, after) {
		if err != nil {
			return after, err
		}
		frame, err := frameOf(&e)
		if err != nil {
			return after, err
		}
		if err := send(frame); err != nil {
			return after, err
		}
		after = e.Seq
	}
	return after, nil
}
