package agenda

import (
	"context"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Jobs are the jobs of runs.
type Jobs interface {
	// Admit asks for a job, once: the same request again is no error. events.Faults say why it is refused for good.
	Admit(ctx context.Context, request []byte) error
	// Stop asks a job to stop; the same word again is the same request.
	Stop(ctx context.Context, job, word, reason string) error
	// Exists reports whether anything of a job is left.
	Exists(ctx context.Context, job string) (bool, error)
}

// Results are what jobs have given.
type Results interface {
	// Result is that of a job that has finished; empty when it is large, or nothing of the job is left.
	Result(ctx context.Context, job string) (json.RawMessage, error)
}

// Reporter tells what became of steps.
type Reporter interface {
	// Report states the end of a run of a step, once: a run that has ended is no error.
	Report(ctx context.Context, e events.Event) error
}

// Reader reads messages in order.
type Reader interface {
	// Next blocks for the first message and adds what else is there.
	Next(ctx context.Context, limit int) ([]bus.Delivery, error)
}
