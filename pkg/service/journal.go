package service

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Journal reads and writes the journals of runs; it is a lease.Journal. It stores no secret of the process.
type Journal struct {
	bus     *bus.Bus
	secrets *redact.Set
	pool    string
	former  []events.Tenure
}

// NewJournal accesses the journals of a bus. It removes secrets from what is appended; nil means none.
func NewJournal(b *bus.Bus, secrets *redact.Set) Journal { return Journal{bus: b, secrets: secrets} }

// In implements lease.Journal.
func (j Journal) In(pool string, former []events.Tenure) lease.Journal {
	j.pool, j.former = pool, former
	return j
}

// Read implements lease.Journal. Of an unreadable record only the sequence counts.
func (j Journal) Read(ctx context.Context, job, subjob string) ([]run.Entry, error) {
	list, _, err := j.bus.Journal(job, subjob).In(j.pool).Beside(j.former).Read(ctx)
	return list, err
}

// Clock implements lease.Journal.
func (j Journal) Clock(ctx context.Context) (now, since time.Time, err error) {
	return j.bus.Clock(ctx)
}

// Append implements lease.Journal.
func (j Journal) Append(job, subjob string, r events.JournalRecord, last uint64) lease.Pending {
	redactor := j.secrets.Redactor()
	r.Data, r.Reason = redactor.JSON(r.Data), redactor.Text(r.Reason)
	return j.bus.Journal(job, subjob).In(j.pool).AppendAsync(r, last)
}
