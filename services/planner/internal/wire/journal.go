package wire

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Journal keeps the journals of planning runs.
type Journal struct{ Bus *bus.Bus }

// Read implements lease.Journal. A record that cannot be read counts for nothing but its sequence.
func (j Journal) Read(ctx context.Context, job, subjob string) ([]run.Entry, error) {
	list, _, err := j.Bus.Journal(job, subjob).Read(ctx)
	return list, classed(err)
}

// Clock implements lease.Journal.
func (j Journal) Clock(ctx context.Context) (now, since time.Time, err error) {
	now, since, err = j.Bus.Clock(ctx)
	return now, since, classed(err)
}

// Append implements lease.Journal.
func (j Journal) Append(job, subjob string, r events.JournalRecord, last uint64) lease.Pending {
	return pending{j.Bus.Journal(job, subjob).AppendAsync(r, last)}
}

// pending gives errors in the loop's words.
type pending struct{ bus.Ack }

// Wait implements lease.Pending.
func (p pending) Wait(ctx context.Context) (uint64, error) {
	seq, err := p.Ack.Wait(ctx)
	return seq, classed(err)
}
