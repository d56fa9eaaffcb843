package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Source gives work: Next blocks for one message. Drain ends it and gives what is unread back to others; Stop just ends it.
type Source interface {
	Next(ctx context.Context) (queue.Delivery, error)
	Drain(ctx context.Context)
	Stop()
}

// Log takes facts. Once stores one if its subject has none yet, else store.ErrConflict; Tell states one that is not awaited; Live
// passes bytes to the watchers of a SubJob, and nothing is stored.
type Log interface {
	Once(e events.Event) (lease.Pending, error)
	Tell(e events.Event)
	Live(job, subjob string, body []byte)
}

// Question is one call of a model.
type Question struct {
	// Request is the job's, which may name the model.
	Request *events.Request
	// Call is what is asked.
	Call *planning.ModelCall
	// Key is the name of the call within its run. IdempotencyKey is the same in every attempt of every run.
	Key, IdempotencyKey string
	// Live takes what is told while the answer comes; nil without a listener.
	Live func(body []byte)
}

// Model answers calls. Name is what the planner's model is called for a request, empty when there is none. Ask gives what
// came of a call, a failure too, without key and run; an error means that nothing came of it yet: the context's, or a
// *Later.
type Model interface {
	Name(r *events.Request) string
	Ask(ctx context.Context, q *Question) (planning.Fact, error)
}

// Dispatcher hands work to experts and hears their reports. Issue stores a work message unless it is there, or the run reported on
// the subject already. Report waits for the report on a subject. Close fences a run, so that it cannot begin, and has
// a runner at work on it end.
type Dispatcher interface {
	Issue(ctx context.Context, m events.Message, report string) error
	Report(ctx context.Context, subject string) (*events.SubJobReported, error)
	Close(ctx context.Context, w *events.Work, reason string) error
}

// Later means that a call is worth trying again after a while that is too long to wait for.
type Later struct {
	// After is how long.
	After time.Duration
	// Why is what the provider said.
	Why error
}

// Error says why.
func (l *Later) Error() string { return l.Why.Error() }

// Unwrap gives what the provider said.
func (l *Later) Unwrap() error { return l.Why }

// Profiles give the rules of planning and the texts of its prompts. Find takes the name that a request gives, empty for the
// default one; its error names those there are. version changes with any of them.
type Profiles interface {
	Find(name string) (p planning.Profile, version string, err error)
	Render(prompt, locale string, v planning.Vars) (planning.Prompt, error)
}

// Blobs keeps payloads within a job. Get gives store.ErrNotFound for one that is gone.
type Blobs interface {
	Put(ctx context.Context, job string, data []byte) (events.Ref, error)
	Get(ctx context.Context, job, digest string) ([]byte, error)
}

// Catalog gives the cards there are, and a channel that closes when they change. Fresh gives those that were announced before the
// call, be it that they have to be waited for.
type Catalog interface {
	Cards() (cards []events.Card, changed <-chan struct{})
	Fresh(ctx context.Context) []events.Card
}

// Meter counts what was decided.
type Meter interface {
	Decided(o Outcome)
}

// Outcome is what became of one delivery, for the metrics.
type Outcome struct {
	// Kind is the fact that was stated, empty for a message that is no planning work.
	Kind events.Kind
	// Steps counts the SubJobs of the graph, Rounds how often a model planned again, Drafts what its drafts were worth.
	Steps, Rounds int
	Drafts        planning.Drafts
	// Remarks are doubts about a plan that a model wrote, by kind.
	Remarks []string
	// Cache is CacheHit or CacheMiss for a graph that could have been one of an earlier job, else empty.
	Cache string
	// Author is who put a result into words, for work that does so.
	Author planning.Author
	// EnoughContext is what the plan says of itself, if it does.
	EnoughContext *bool
	// Faults are those of a rejection.
	Faults events.Faults
	// Took is the time from taking the work to stating the fact.
	Took time.Duration
	// Repeated is true when the fact had been stated before.
	Repeated bool
}

// stated is the fact that was stated here; empty when another had stated it before.
func (o *Outcome) stated() events.Kind {
	if o.Repeated {
		return ""
	}
	return o.Kind
}
