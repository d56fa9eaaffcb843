package app

import (
	"fmt"
	"io"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
)

// Settings are the scheduler's own settings. Default returns good ones; Declare lets flags, environment and file set them.
type Settings struct {
	// Partitions is how many consumers the jobs are spread over; a divisor of 64, the same in all schedulers of a prefix.
	Partitions int
	// IntakeHighWater is the size of the log in MiB above which no job is admitted; 0 means no limit.
	IntakeHighWater int
	// IntakeFull is the fill level of the log, in percent of its own limits, above which no job is admitted.
	IntakeFull int
	// Retention is how long a job is kept after its end; 0 keeps it for ever.
	Retention time.Duration
	// Lease is how long a claim of a run holds without renewal; LeaseMargin is waited on top before a run is replaced.
	Lease       time.Duration
	LeaseMargin time.Duration
	// SaveAfter is how long an active job goes without a save of its state.
	SaveAfter time.Duration
	// WorkWindow is the maximum number of runs in a pool's queue while more are ready; 0 publishes all ready work.
	WorkWindow int
	// Batches puts work for quick experts into messages of many SubJobs, for pools in which all runners have declared that they
	// accept them.
	Batches bool
	// Rules is the newest version of the decision rules that new jobs get, here and from all other schedulers; 0 means the newest
	// version that all know.
	Rules int
	// InMotion is how many jobs may change at once before further requests wait for admission; 0 means no limit.
	InMotion int
	// CacheMiB limits the memory for results and plans that work may still refer to. Anything beyond it is read from the log again
	// for each work message that needs it: ten thousand jobs of ten small SubJobs need 100 MiB.
	CacheMiB int
	// DryRun prints commands for the job From (a file or a job's id) instead of publishing them, up to the event UntilSeq.
	DryRun   bool
	From     string
	UntilSeq int
}

// Default returns the settings without any flags.
func Default() Settings {
	rules := intake.DefaultRules()
	return Settings{
		Partitions: 1, IntakeFull: 90, Retention: rules.Retention.Std(), Lease: rules.Lease.Std(),
		LeaseMargin: rules.LeaseMargin.Std(), SaveAfter: 250 * time.Millisecond, CacheMiB: 128, WorkWindow: 8192, Batches: true, InMotion: 512,
	}
}

// Declare registers the settings as flags, environment variables and keys of the file.
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

// Deps are what an embedding program provides; the zero value is valid.
type Deps struct {
	// Bus is a connection to use, which stays open; nil makes Run open its own from the process's settings.
	Bus *bus.Bus
	// Room returns the free bytes on the disk of the bus's store, for programs that run the server; nil if unknown.
	Room func() (uint64, error)
	// Hook is called at every boundary between two effects with the boundary's name; an error ends the scheduler there, as
	// a crash would. It has to be safe for concurrent use. For tests.
	Hook func(point string) error
	// BatchAtOnce puts work into batches before experts have proved to be quick. For tests.
	BatchAtOnce bool
	// Known is the newest version of the decision rules that the scheduler knows; 0 means that of this release. For tests with two
	// releases.
	Known int
	// Out gets the output of a dry run; nil means standard output.
	Out io.Writer
}

// known is the newest version of the decision rules that the scheduler knows.
func (d *Deps) known() int {
	if d.Known != 0 {
		return d.Known
	}
	return events.RulesVersion
}

// declares returns the capabilities that the scheduler declares: no newer rules than new jobs may get.
func (r *scheduler) declares() release.Levels {
	levels := release.Of(release.Scheduler)
	levels[release.Rules] = r.known()
	if r.Rules != 0 {
		levels[release.Rules] = min(levels[release.Rules], r.Rules)
	}
	return levels
}

// Points lists the names of the boundaries at which Deps.Hook is called, in the order of a step.
func Points() []string { return append(service.Points(loop.Points()), recurring.Points()...) }
