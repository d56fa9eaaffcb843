package app

import (
	"fmt"
	"io"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/agenda"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Settings are the scheduler's own. Default gives good ones; Declare lets flags, environment and file set them.
type Settings struct {
	// Partitions is how many consumers the jobs are spread over; a divisor of 64, the same in all schedulers of a prefix.
	Partitions int
	// IntakeHighWater is how many MiB the log may hold before no job is admitted any more; 0 means no such mark.
	IntakeHighWater int
	// IntakeFull is how full the log may be by its own limits, in percent, before no job is admitted any more.
	IntakeFull int
	// Retention is how long a job is kept after its end; 0 keeps it for ever.
	Retention time.Duration
	// Lease is how long a claim of a run holds without renewal; LeaseMargin is waited on top before a run is replaced.
	Lease       time.Duration
	LeaseMargin time.Duration
	// SaveAfter is how long a job in motion goes without a save of its state.
	SaveAfter time.Duration
	// WorkWindow is how many runs the queue of a pool holds at most while more are ready; 0 publishes all that is ready.
	WorkWindow int
	// Batches puts the work of quick experts into messages of many SubJobs, for pools whose runners have all declared that they take them.
	Batches bool
	// Rules is the number of the newest decision rules that new jobs get, here and from all other schedulers; 0 for the newest that all
	// know.
	Rules int
	// InMotion is how many jobs may change at once before requests wait for their admission; 0 admits all.
	InMotion int
	// CacheMiB bounds the memory for results and plans that work may still refer to. What is left out is read from the log
	// again for each work that needs it: ten thousand jobs of ten small SubJobs keep 100 MiB.
	CacheMiB int
	// DryRun prints commands for the job From (a file or a job's id) instead of publishing them, up to the event UntilSeq.
	DryRun   bool
	From     string
	UntilSeq int
}

// Default gives the settings without a flag.
func Default() Settings {
	rules := intake.DefaultRules()
	return Settings{
		Partitions: 1, IntakeFull: 90, Retention: rules.Retention.Std(), Lease: rules.Lease.Std(),
		LeaseMargin: rules.LeaseMargin.Std(), SaveAfter: 250 * time.Millisecond, CacheMiB: 128, WorkWindow: 8192, Batches: true, InMotion: 512,
	}
}

// Declare registers the settings.
func (s *Settings) Declare(f *host.Flags) {
	*s = Default()
	f.Int(&s.Partitions, 1, events.Shards, host.Flag{Name: "partitions", Default: "1", Usage: "How many consumers the jobs are spread over; a divisor of 64, the same in all schedulers."})
	f.Int(&s.IntakeHighWater, 0, 1<<30, host.Flag{Name: "intake-high-water", Default: "0", Usage: "How many MiB the log may hold before no job is admitted any more; 0 means no such mark."})
	f.Int(&s.IntakeFull, 1, 100, host.Flag{Name: "intake-full", Default: "90", Usage: "How full the log may be by its own limits, in percent, before no job is admitted any more."})
	f.Duration(&s.Retention, 0, 100*365*24*time.Hour, host.Flag{Name: "retention", Default: "720h", Usage: "How long a job is kept after its end; 0 keeps it for ever."})
	f.Duration(&s.Lease, time.Second, time.Hour, host.Flag{Name: "lease", Default: "10s", Usage: "How long a claim of a run holds without renewal."})
	f.Duration(&s.LeaseMargin, 0, time.Hour, host.Flag{Name: "lease-margin", Default: "5s", Usage: "What is waited behind a lease before its run is replaced."})
	f.Duration(&s.SaveAfter, time.Millisecond, time.Second, host.Flag{Name: "save-after", Default: "250ms", Usage: "How long a job in motion goes without a save of its state."})
	f.Int(&s.CacheMiB, 1, 1<<20, host.Flag{Name: "cache-mib", Default: "128", Usage: "How many MiB of results and plans of jobs in motion are kept in memory."})
	f.Int(&s.WorkWindow, 0, 1<<20, host.Flag{Name: "work-window", Default: "8192", Usage: "How many runs the queue of a pool holds at most while more are ready; the rest has its turn by priority, session by session. 0 queues all."})
	f.Bool(&s.Batches, host.Flag{Name: "batches", Default: "true", Usage: "Publish the work of quick experts in messages of many SubJobs, for pools whose runners all take them."})
	f.Int(&s.Rules, 0, events.RulesVersion, host.Flag{Name: "rules", Default: "0", Usage: "The newest decision rules that new jobs get, from other schedulers, too: those of the release before, ahead of a rollback. 0 means the newest that all schedulers know."})
	f.Int(&s.InMotion, 0, 1<<20, host.Flag{Name: "in-motion", Default: "512", Usage: "How many jobs may change at once before requests wait for their admission, user by user. Jobs whose work is being done or waits do not count. 0 admits all."})
	f.Bool(&s.DryRun, host.Flag{Name: "dry-run", Usage: "Print the commands for a recorded job instead of publishing them; needs --from."})
	f.String(&s.From, host.Flag{Name: "from", Usage: "What --dry-run reads: an export file, or the id of a job on the bus."})
	f.Int(&s.UntilSeq, 0, 1<<53, host.Flag{Name: "until-seq", Default: "0", Usage: "Last event that --dry-run reads; 0 means all."})
}

// Validate reports what does not go together.
func (s *Settings) Validate() error {
	var faults events.Faults
	if s.Partitions < 1 || events.Shards%s.Partitions != 0 {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "partitions", Message: fmt.Sprintf("%d is no divisor of %d", s.Partitions, events.Shards), Hint: "use 1, 2, 4, 8, 16, 32 or 64"})
	}
	if s.DryRun != (s.From != "") {
		faults = append(faults, events.Fault{Code: events.CodeMissing, Field: "from", Message: "--dry-run and --from go together", Hint: "scheduler --dry-run --from FILE|ID"})
	}
	return faults.OrNil()
}

// rules are the defaults that intake writes into jobs.
func (s *Settings) rules() events.Rules {
	r := intake.DefaultRules()
	r.Retention, r.Lease, r.LeaseMargin = events.Duration(s.Retention), events.Duration(s.Lease), events.Duration(s.LeaseMargin)
	return r
}

// Deps are what an embedding program may bring along; the zero value brings nothing.
type Deps struct {
	// Bus is a connection to use, which stays open; without it Run makes its own from the process's settings.
	Bus *bus.Bus
	// Room is how many bytes are free on the disk of the bus's store, for programs that have it within them; nil when unknown.
	Room func() (uint64, error)
	// Hook is called at every boundary between two effects with the boundary's name; an error ends the scheduler there, as
	// a crash would. It has to be safe for concurrent use. For tests.
	Hook func(point string) error
	// BatchAtOnce puts work into batches before experts have shown to be quick. For tests.
	BatchAtOnce bool
	// Known is the number of the newest decision rules that the scheduler knows; that of this release when 0. For tests, of two releases.
	Known int
	// Out takes what a dry run prints; the standard output when nil.
	Out io.Writer
}

// known is the number of the newest decision rules that the scheduler can go by.
func (d *Deps) known() int {
	if d.Known != 0 {
		return d.Known
	}
	return events.RulesVersion
}

// declares is what the scheduler says that it knows: no newer rules than new jobs are to get.
func (r *scheduler) declares() release.Levels {
	levels := release.Of(release.Scheduler)
	levels[release.Rules] = r.known()
	if r.Rules != 0 {
		levels[release.Rules] = min(levels[release.Rules], r.Rules)
	}
	return levels
}

// Points lists the names of the boundaries at which Deps.Hook is called, in the order of a step.
func Points() []string {
	points := loop.Points()
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = string(p)
	}
	return append(names, agenda.Points()...)
}
