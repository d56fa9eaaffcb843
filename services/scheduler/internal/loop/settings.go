package loop

import (
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Settings are the settings of a partition. Default returns sensible ones.
type Settings struct {
	// Names builds all subjects.
	Names events.Names
	// SaveEvery and SaveAfter limit how many events, and how long, an active job goes without a save. A state larger than
	// SaveScale bytes is saved less often, in proportion, and so is any state on a slow store, but at least every SaveLatest.
	SaveEvery  int
	SaveAfter  time.Duration
	SaveScale  int
	SaveLatest time.Duration
	// MaxOpen is how many deliveries may be unacknowledged before everything is saved: half of the consumer's MaxAckPending.
	MaxOpen int
	// CacheBytes limits the events kept in memory because work may refer to them.
	CacheBytes int
	// CacheJobs limits the jobs at rest that are kept in memory.
	CacheJobs int
	// Pooled publishes the facts of runs on subjects that name the pool of the run.
	Pooled bool
	// Journaled returns the time since when runners may write to journals only on the subjects of their pools, so that claim_subject
	// has to name the pool, too; ok is false if they may write everywhere. It is called only if Pooled is true.
	Journaled func() (since time.Time, ok bool)
	// Window is the maximum number of runs in a pool's queue while more are ready, fewer if the pool is slower: waiting work is
	// admitted by priority and session. 0 publishes all ready work.
	Window int
	// Rules is the newest version of the decision rules that this scheduler knows: it does not touch jobs with newer ones.
	Rules int
	// Passed is called when deliveries begin, or continue after some that another scheduler got; nil to ignore it.
	Passed func()
	// BatchAtOnce puts work into batches for every pool that accepts them, whether or not its experts have proved to be quick; for
	// tests.
	BatchAtOnce bool
	// Parallel limits concurrent closes and saves.
	Parallel int
	// RetryFirst and RetryMost bound the wait before a job with failed effects is tried again; it doubles in between.
	RetryFirst, RetryMost time.Duration
	// Trace begins a span under a traceparent, with attributes by name and value, and returns the traceparent of the span and a
	// function that ends it; nil without a collector.
	Trace func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))
	// Logger gets one line for each thing that an operator should know.
	Logger *slog.Logger
	// Illegal is called with an illegal move of a job's phase: a bug in this package; for tests. Without it the move is logged,
	// and the job is loaded again.
	Illegal func(error)
	// Hook is called at every boundary between effects; nil in production.
	Hook Hook
}

// Default returns the settings for a prefix.
func Default(names events.Names, logger *slog.Logger) Settings {
	return Settings{
		Names: names, Logger: logger, Rules: events.RulesVersion,
		SaveEvery: 1024, SaveAfter: 250 * time.Millisecond, SaveScale: 256 << 10, SaveLatest: 1250 * time.Millisecond,
		MaxOpen: 8 << 10, CacheBytes: 32 << 20, CacheJobs: 4096, Parallel: 64,
		RetryFirst: 100 * time.Millisecond, RetryMost: 10 * time.Second,
	}
}
