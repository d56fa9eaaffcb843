package recurring

import (
	"context"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Jobs submits, stops and looks up the jobs that runs of schedules start.
type Jobs interface {
	// Admit submits a job, once: a repeat of the same request is no error. events.Faults say why it is refused permanently.
	Admit(ctx context.Context, request []byte) error
	// Stop asks a job to stop. word identifies the request, so that repeating it has no further effect; reason is for people.
	Stop(ctx context.Context, job, word, reason string) error
	// Exists reports whether anything is left of the job that was submitted for a run. Another job under the id of the run is not it.
	Exists(ctx context.Context, run *events.Request) (bool, error)
}

// Results returns the results of jobs.
type Results interface {
	// Result is the result of a finished job; empty if it is large, or if the job was removed.
	Result(ctx context.Context, job string) (json.RawMessage, error)
}

// Reporter publishes the outcome of Steps.
type Reporter interface {
	// Report publishes the end of a run of a Step, once: a run that has already ended is no error.
	Report(ctx context.Context, e events.Event) error
}

// Reader reads messages in order.
type Reader interface {
	// Next blocks for the first message and adds those that are available.
	Next(ctx context.Context, limit int) ([]bus.Delivery, error)
}
