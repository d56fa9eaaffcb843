package history

import (
	"context"
	"iter"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/canvas"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Log is what canvases are made from.
type Log interface {
	// Head returns the sequence of a job's last event.
	Head(ctx context.Context, job string) (uint64, error)
	// Events yields the events after a sequence, up to now, with their plans resolved.
	Events(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
}

// maxEvents limits the events of all cached canvases, and maxJobs their number; the canvas in use is kept in any case.
const (
	maxEvents = 500_000
	maxJobs   = 64
)

// Cache holds canvases. It is safe for concurrent use.
type Cache struct {
	log Log

	mu   sync.Mutex // Guards jobs and turn, never held while a log is read.
	jobs map[string]*job
	turn uint64
}

// job is a cached canvas.
type job struct {
	used uint64 // The turn in which it was last used.
	size int    // The number of its events when it was last used.

	mu     sync.Mutex // Guards canvas. Held while the log is read, so that concurrent readers share the work.
	canvas *canvas.Canvas
}

// New returns an empty cache.
func New(log Log) *Cache { return &Cache{log: log, jobs: map[string]*job{}} }

// Head returns the sequence of a job's last event. Errors: those of the log.
func (c *Cache) Head(ctx context.Context, id string) (uint64, error) { return c.log.Head(ctx, id) }

// Use calls do with the present canvas of a job; do must not keep it. Errors: those of the log, joblog.ErrPoisoned, and that of do.
func (c *Cache) Use(ctx context.Context, id string, do func(*canvas.Canvas) error) error {
	head, err := c.log.Head(ctx, id)
	if err != nil {
		c.drop(id)
		return err
	}
	j := c.take(id)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.canvas == nil || j.canvas.Seq() > head {
		j.canvas = &canvas.Canvas{} // The job is new here, or was deleted and created again.
	}
	n := 0
	for e, err := range c.log.Events(ctx, id, j.canvas.Seq()) {
		if err == nil {
			if e.Kind == events.KindJobRequested && j.canvas.Seq() > 0 {
				j.canvas = &canvas.Canvas{}
			}
			n++
			err = j.canvas.Take(&e)
		}
		if err != nil {
			j.canvas = nil
			return err
		}
	}
	c.grown(j, n)
	return do(j.canvas)
}

// At is Use for the graph at an earlier event, which is folded for this call only.
func (c *Cache) At(ctx context.Context, id string, seq uint64, do func(*canvas.Canvas) error) error {
	past := &canvas.Canvas{}
	for e, err := range c.log.Events(ctx, id, 0) {
		if err == nil && e.Seq > seq {
			break
		}
		if err == nil {
			err = past.Take(&e)
		}
		if err != nil {
			return err
		}
	}
	if past.Seq() == 0 {
		return &events.Fault{Code: events.CodeNotFound, Field: "at", Message: "the log of this job begins later", Hint: "GET …/events gives the sequences of its events"}
	}
	return do(past)
}

// take returns the entry of a job, and removes the least recently used ones if there are too many.
func (c *Cache) take(id string) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	j := c.jobs[id]
	if j == nil {
		j = &job{}
		c.jobs[id] = j
	}
	j.used = c.turn
	c.shrink(j)
	return j
}

// grown records that a canvas has more events.
func (c *Cache) grown(j *job, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.size += n
	c.shrink(j)
}

// shrink drops the least recently used canvases until the others are within the limits.
func (c *Cache) shrink(keep *job) {
	for {
		total, oldest, least := 0, "", uint64(0)
		for id, j := range c.jobs { // any order: the least turn is unique.
			total += j.size
			if j != keep && (oldest == "" || j.used < least) {
				oldest, least = id, j.used
			}
		}
		if oldest == "" || total <= maxEvents && len(c.jobs) <= maxJobs {
			return
		}
		delete(c.jobs, oldest)
	}
}

func (c *Cache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, id)
}
