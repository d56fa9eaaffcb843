package loop

import (
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Settings of a partition. Default gives good ones.
type Settings struct {
	// Names builds all subjects.
	Names events.Names
	// SaveEvery and SaveAfter bound how many events, and how long, a job that is in motion goes without a save. A state
	// larger than SaveScale bytes is saved less often, in proportion, and so is any on a slow store, but at least each SaveLatest.
	SaveEvery  int
	SaveAfter  time.Duration
	SaveScale  int
	SaveLatest time.Duration
	// MaxOpen is how many deliveries may be unacknowledged before everything is saved: half of the consumer's MaxAckPending.
	MaxOpen int
	// CacheBytes bounds the events kept in memory because work may refer to them.
	CacheBytes int
	// CacheJobs bounds the jobs at rest that are kept in memory.
	CacheJobs int
	// Window is how many runs a pool's queue holds at most while more are ready, less where the pool takes less in a second: what
	// waits beyond it is let in by priority, and session by session. 0 publishes all that is ready.
	Window int
	// Rules is the number of the newest decision rules that are known here: a job of newer ones is left alone.
	Rules int
	// Passed is called when deliveries begin, or begin again behind some that another scheduler had; nil to ignore it.
	Passed func()
	// BatchAtOnce puts work into batches for every pool that takes them, whether its experts have shown to be quick or not; for tests.
	BatchAtOnce bool
	// Parallel bounds closes and saves that are under way at once.
	Parallel int
	// RetryFirst and RetryMost bound the wait before a job is tried again whose effects failed; it doubles between.
	RetryFirst, RetryMost time.Duration
	// Trace begins a span under a traceparent, with attributes by name and value, and gives the traceparent of the span and
	// what ends it; nil when there is no collector.
	Trace func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))
	// Logger gets one line for what an operator should know.
	Logger *slog.Logger
	// Illegal is called with a move of a job that the table of its phases does not have: a fault of this package; for tests. Without it
	// the move is logged, and the job is loaded again.
	Illegal func(error)
	// Hook is called at every boundary between effects; nil in production.
	Hook Hook
}

// Default gives the settings for a prefix.
func Default(names events.Names, logger *slog.Logger) Settings {
	return Settings{
		Names: names, Logger: logger, Rules: events.RulesVersion,
		SaveEvery: 1024, SaveAfter: 250 * time.Millisecond, SaveScale: 256 << 10, SaveLatest: 1250 * time.Millisecond,
		MaxOpen: 8 << 10, CacheBytes: 32 << 20, CacheJobs: 4096, Parallel: 64,
		RetryFirst: 100 * time.Millisecond, RetryMost: 10 * time.Second,
	}
}
