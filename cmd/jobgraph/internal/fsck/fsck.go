package fsck

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Kind is the kind of a finding, stable for programs.
type Kind string

// The kinds of findings.
const (
	LogShort       Kind = "log_short"       // The log lacks events that the saved state covers.
	LogGone        Kind = "log_gone"        // There is a saved state but no log.
	LogUnreadable  Kind = "log_unreadable"  // The log cannot be folded.
	StateMissing   Kind = "state_missing"   // There is a log that schedulers have settled completely, but no saved state.
	StateDamaged   Kind = "state_damaged"   // The saved state cannot be read, or does not match its digest.
	StateDiffers   Kind = "state_differs"   // The saved state differs from the fold of the log.
	PayloadMissing Kind = "payload_missing" // A payload that an event refers to is missing from the object store, or is damaged.
	PayloadUnused  Kind = "payload_unused"  // Payloads have been stored for a day under an id without a job.
)

// Finding is one problem of a job, or of an id without one.
type Finding struct {
	Kind Kind   `json:"kind"`
	Job  string `json:"job_id"`
	// Fault describes it to people, with advice.
	Fault events.Fault `json:"fault"`
	// Differences are the differences between the saved state and the fold.
	Differences []joblog.Difference `json:"differences,omitempty"`
}

// Report is the result of checking a store.
type Report struct {
	// Jobs, States, Events and Payloads count what was checked.
	Jobs     int `json:"jobs"`
	States   int `json:"states"`
	Events   int `json:"events"`
	Payloads int `json:"payloads"`
	// Unsigned states have no digest. Foreign states belong to another log or another version of the fold; the scheduler
	// folds both again when it needs them. Quarantined counts the jobs in quarantine.
	Unsigned    int `json:"unsigned"`
	Foreign     int `json:"foreign"`
	Quarantined int `json:"quarantined"`
	// Unused counts the payloads without a job, also those that are too young for a finding; nil if there are none.
	Unused *Unused `json:"unused,omitempty"`
	// Findings are sorted by job id.
	Findings []Finding `json:"findings"`
}

// checker is one check of a store.
type checker struct {
	client *client.Client
	log    bus.StreamFacts
	// settled holds, by shard, the sequences up to which schedulers have settled everything.
	settled [events.Shards]uint64
	report  *Report
}

// Check checks all jobs. On a bus with running services, a job with findings is checked twice, since it may have been
// changing. now decides how old payloads without a job are. Errors: those of the bus.
func Check(ctx context.Context, c *client.Client, now time.Time) (*Report, error) {
	k := &checker{client: c, report: &Report{Findings: []Finding{}}}
	var err error
	if k.log, err = c.Bus().Streams().Info(ctx, c.Names().Log); err != nil {
		return nil, err
	}
	if k.settled, err = c.Bus().Queues().Settled(ctx); err != nil {
		return nil, err
	}
	jobs, err := k.jobs(ctx)
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		seen, err := k.job(ctx, job)
		if err == nil && len(seen.findings) > 0 {
			if k.log, err = c.Bus().Streams().Info(ctx, c.Names().Log); err == nil {
				seen, err = k.job(ctx, job)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("check job %s: %w", job, err)
		}
		k.report.add(seen)
	}
	if err := k.unused(ctx, now); err != nil {
		return nil, fmt.Errorf("look for payloads without a job: %w", err)
	}
	return k.report, nil
}

// jobs returns the ids of all jobs with a saved state, or with a request in the log, sorted.
func (k *checker) jobs(ctx context.Context) ([]string, error) {
	jobs, err := k.client.IDs(ctx)
	if err != nil {
		return nil, err
	}
	for e, err := range k.client.Bus().Log().Requested(ctx, 1, k.log.LastSeq) {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, e.Job)
	}
	slices.Sort(jobs)
	return slices.Compact(jobs), nil
}

// add counts what was checked of a job.
func (r *Report) add(s *sight) {
	r.Events += len(s.events)
	r.Payloads += s.payloads
	if len(s.events) > 0 || s.saved() {
		r.Jobs++
	}
	if s.saved() {
		r.States++
	}
	for _, is := range []struct {
		so    bool
		count *int
	}{{s.unsigned, &r.Unsigned}, {s.foreign, &r.Foreign}, {s.quarantined, &r.Quarantined}} {
		if is.so {
			*is.count++
		}
	}
	r.Findings = append(r.Findings, s.findings...)
}

// restore returns the advice about a log that has lost events.
func restore(job string) string {
	return "restore the stream from a backup, or `jobgraph delete " + job + "` and `jobgraph import` an export of the job"
}

// stamp formats a time for people.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
