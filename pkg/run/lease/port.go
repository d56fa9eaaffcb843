package lease

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Records reads and writes the records of SubJobs' journals. Read returns all records, oldest first. Append stores a record if the
// journal still ends at last, 0 for an empty one.
type Records interface {
	Read(ctx context.Context, job, subjob string) ([]run.Entry, error)
	Append(job, subjob string, r events.JournalRecord, last uint64) Pending
}

// Journal gives access to the journals of SubJobs. In returns the view of a pool's runs: it appends to the pool's subject, and
// includes the records of runs in former pools. Clock returns the broker's time, which stamps the records, and since when the
// broker has been reachable without interruption, as far as this process knows.
type Journal interface {
	Records
	In(pool string, former []events.Tenure) Journal
	Clock(ctx context.Context) (now, since time.Time, err error)
}

// Pending is a write whose result is not known yet.
type Pending interface {
	Wait(ctx context.Context) (seq uint64, err error)
}

// Run is a run and the process that wants to claim it.
type Run struct {
	Job, SubJob string
	Run         int
	// Pool is the pool on whose subject the run is claimed, empty for the subject without a pool; Former are other pools whose records
	// count.
	Pool   string
	Former []events.Tenure
	// Resumes is the run that it continues, 0 for none.
	Resumes int
	// Owner is the name of this process; Lease is how long a claim holds without renewal.
	Owner string
	Lease time.Duration
}

// of returns the journals as the run sees them.
func (r *Run) of(all Journal) Journal {
	if r.Pool == "" && len(r.Former) == 0 {
		return all
	}
	return all.In(r.Pool, r.Former)
}

// Admit reads the journal of a run and decides whether it may be claimed. It asks for the broker's clock only if another
// owner has a claim. Errors: those of the journal.
func Admit(ctx context.Context, from Journal, r Run) (*run.Journal, run.Admission, error) {
	entries, err := r.of(from).Read(ctx, r.Job, r.SubJob)
	if err != nil {
		return nil, run.Admission{}, err
	}
	journal := run.Read(entries)
	c := run.Claimant{Owner: r.Owner}
	a := journal.Admit(r.Run, c)
	if a.Action == run.Wait {
		if c.Now, c.Since, err = from.Clock(ctx); err != nil {
			return nil, a, err
		}
		a = journal.Admit(r.Run, c)
	}
	return journal, a, nil
}
