package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Source delivers work: Next blocks for one message. Drain stops it and gives unread messages back; Stop just stops it.
type Source interface {
	Next(ctx context.Context) (queue.Delivery, error)
	Drain(ctx context.Context)
	Stop()
}

// Log publishes facts. Once stores one if its subject has none yet, else it returns store.ErrConflict. Tell publishes one
// without waiting. Live sends bytes to the watchers of a SubJob without storing them.
type Log interface {
	Once(e events.Event) (lease.Pending, error)
	Tell(e events.Event)
	Live(job, subjob, pool string, body []byte)
}

// Question is a model call of a planning run, with everything that is needed to make it.
type Question struct {
	// Request is the job's request, which may name the model.
	Request *events.Request
	// Call is what the model is asked.
	Call *planning.ModelCall
	// Key identifies the call within its run. IdempotencyKey is the same in every attempt of every run.
	Key, IdempotencyKey string
	// Live receives parts of the answer as they arrive; nil if no one watches.
	Live func(body []byte)
	// Show receives the answer as items for people; nil if no one watches.
	Show func(i item.Item)
}

// Items takes the live items of one run without waiting, as live.Run does. Seam says that the run continues where another run broke
// off. End ends the run; with done its items are complete.
type Items interface {
	Show(i item.Item)
	Seam(of int, continues bool)
	End(done bool)
}

// Model answers calls. Name returns the model's name for a request, empty if there is none. Ask returns the outcome of a call, even
// a failure, as a fact without key and run. An error means that there is no outcome yet: the context's error, or a *Later.
type Model interface {
	Name(r *events.Request) string
	Ask(ctx context.Context, q *Question) (planning.Fact, error)
}

// Dispatcher issues work to experts and reads their reports. Issue stores a work message, unless it exists or the run was
// already reported on that subject. Report waits for the report on a subject. Close fences a run, so that it cannot start,
// and cancels it on a runner that executes it.
type Dispatcher interface {
	Issue(ctx context.Context, m events.Message, report string) error
	Report(ctx context.Context, subject string) (*events.SubJobReported, error)
	Close(ctx context.Context, w *events.Work, reason string) error
}

// Later means that a call should be tried again after a delay that is too long to wait for.
type Later struct {
	// After is the delay.
	After time.Duration
	// Why is the provider's error.
	Why error
}

// Error returns the provider's message.
func (l *Later) Error() string { return l.Why.Error() }

// Unwrap returns the provider's error.
func (l *Later) Unwrap() error { return l.Why }

// Profiles hold the rules of planning and render prompts. Find returns the profile of a name, or the default one for an
// empty name; its error lists the existing names. version changes with any change of profiles or prompts.
type Profiles interface {
	Find(name string) (p planning.Profile, version string, err error)
	Render(prompt, locale string, v planning.Vars) (planning.Prompt, error)
}

// Blobs stores payloads of a job. Get returns store.ErrNotFound for one that was deleted.
type Blobs interface {
	Put(ctx context.Context, job string, data []byte) (events.Ref, error)
	Get(ctx context.Context, job, digest string) ([]byte, error)
}

// Catalog returns the present cards and a channel that closes when they change. Fresh includes everything announced before
// the call, and may wait for it.
type Catalog interface {
	Cards() (cards []events.Card, changed <-chan struct{})
	Fresh(ctx context.Context) []events.Card
}

// Meter counts outcomes.
type Meter interface {
	Decided(o Outcome)
}

// Outcome is what happened to one delivery, for the metrics.
type Outcome struct {
	// Kind is the published fact, empty for a message that is not planning work.
	Kind events.Kind
	// Steps counts the SubJobs of the graph, Rounds how often a model planned again; Drafts counts its drafts by quality.
	Steps, Rounds int
	Drafts        planning.Drafts
	// Remarks are doubts about a model's plan, by kind.
	Remarks []string
	// Cache is CacheHit or CacheMiss if the graph could have been taken from the cache, else empty.
	Cache string
	// Author says who wrote a summary or report; empty for other work.
	Author planning.Author
	// EnoughContext is the plan's statement about itself, if it has one.
	EnoughContext *bool
	// Faults are those of a rejection.
	Faults events.Faults
	// Took is the time from taking the work to publishing the fact.
	Took time.Duration
	// Repeated is true if the fact existed already.
	Repeated bool
}

// stated returns the fact that this process published; empty if it existed already.
func (o *Outcome) stated() events.Kind {
	if o.Repeated {
		return ""
	}
	return o.Kind
}
