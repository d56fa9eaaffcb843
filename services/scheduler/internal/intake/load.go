package intake

import (
	"context"
	"sync"
)

// Load is the work that the schedulers have: admitting more would only slow it down.
type Load interface {
	// Here returns the load that the partitions of this process report. Changed gets a value when it has changed; one reader may
	// wait.
	Here() Motion
	Changed() <-chan struct{}
	// There asks the broker about partitions of other schedulers.
	There(ctx context.Context) (Motion, error)
}

// Motion is the amount of work in progress.
type Motion struct {
	// Jobs is the number of jobs with events that no save covers yet.
	Jobs int
	// Seen is the sequence of the last event of the log that a scheduler has received.
	Seen uint64
}

// Gauge collects the load of the partitions of one process. Make one with NewGauge. It is safe for concurrent use.
type Gauge struct {
	changed chan struct{}

	mu    sync.Mutex // Guards the fields below.
	parts []Motion
}

// NewGauge makes a gauge for a number of partitions.
func NewGauge(partitions int) *Gauge {
	return &Gauge{changed: make(chan struct{}, 1), parts: make([]Motion, partitions)}
}

// Of returns the dial on which a partition reports its load.
func (g *Gauge) Of(partition int) *Dial { return &Dial{g, partition} }

// Here returns the sum over the partitions.
func (g *Gauge) Here() Motion {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sum Motion
	for _, m := range g.parts {
		sum.Jobs += m.Jobs
		sum.Seen = max(sum.Seen, m.Seen)
	}
	return sum
}

// Changed gets a value when a partition has reported something new.
func (g *Gauge) Changed() <-chan struct{} { return g.changed }

// Dial is one partition's part of a gauge.
type Dial struct {
	gauge     *Gauge
	partition int
}

// Set reports the number of active jobs and an event that the partition has received, 0 for none. The gauge keeps the last one.
func (d *Dial) Set(jobs int, seen uint64) {
	d.gauge.mu.Lock()
	part := &d.gauge.parts[d.partition]
	now := Motion{jobs, max(part.Seen, seen)}
	changed := *part != now
	*part = now
	d.gauge.mu.Unlock()
	if !changed {
		return
	}
	select {
	case d.gauge.changed <- struct{}{}:
	default: // A change is pending already.
	}
}
