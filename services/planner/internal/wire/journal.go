package wire

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Journal keeps the journals of planning runs.
type Journal struct{ Bus *bus.Bus }

// Read implements loop.Journal. A record that cannot be read counts for nothing but its sequence.
func (j Journal) Read(ctx context.Context, job, subjob string) ([]run.Entry, uint64, error) {
	list, last, err := j.Bus.Journal(job, subjob).Read(ctx)
	return list, last, classed(err)
}

// Clock implements loop.Journal.
func (j Journal) Clock(ctx context.Context) (now, since time.Time, err error) {
	now, since, err = j.Bus.Clock(ctx)
	return now, since, classed(err)
}

// Append implements loop.Journal.
func (j Journal) Append(ctx context.Context, job, subjob string, r events.JournalRecord, last uint64) (uint64, error) {
	seq, err := j.Bus.Journal(job, subjob).Append(ctx, r, last)
	return seq, classed(err)
}
