package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// Expert is an agent. It has no state and may run any number of tasks at once.
type Expert struct {
	config Config
	web    *tool.Web
}

// New checks the configuration. Close lets go of connections.
func New(c Config) (*Expert, error) {
	if err := c.Faults().OrNil(); err != nil {
		return nil, err
	}
	return &Expert{config: c, web: tool.NewWeb(tool.Guard{Allow: c.Allow})}, nil
}

// Close drops idle connections. Runs have ended before.
func (x *Expert) Close() { x.web.Close() }

// Run implements expert.Runner.
func (x *Expert) Run(ctx context.Context, t *expert.Task) task.Ending {
	r := &run{Expert: x, task: t, began: time.Now(), live: live{hand: t.Hand}}
	if !tool.NeedsWorkspace(x.config.Tools) {
		return r.run(ctx)
	}
	return workspace.With(ctx, t, x.config.Workspaces, x.config.KeepFailed, func(dir string) task.Ending {
		r.dir = dir
		return r.run(ctx)
	})
}

// run is one run of an agent.
type run struct {
	*Expert
	task  *expert.Task
	dir   string // Empty without file tools.
	tools map[string]tool.Tool
	live  live
	// began is when this process went on with the run, before how long it had lasted then.
	began  time.Time
	before time.Duration
	// spent is what this run has cost; what the runs before it have cost they have told themselves.
	spent events.Spent
}

func (r *run) run(ctx context.Context) task.Ending {
	files, closing, err := r.equip(ctx)
	if err != nil {
		return unprepared(err)
	}
	defer closing()
	schema := r.config.Schema
	if own := r.task.Work.Spec.OutputSchema; own != nil {
		schema = own
	}
	read, err := newForm(schema)
	if err != nil {
		return task.Failure(events.CodeInvalid, "the SubJob's output_schema cannot be used", err.Error(), "correct the plan")
	}
	m := turn.New(turn.Rules{
		Turns: r.config.MaxTurns, Tokens: r.config.MaxTokens, Time: r.config.MaxTime, Observation: r.config.Observation,
		Context: r.config.Context, Required: r.config.Required, Tools: len(r.config.Tools) > 0, Structured: schema != nil,
		Summary: r.config.Summary && schema == nil, Read: read.read,
	}, turn.Opening(r.config.Prompt, r.task.Work, files, schema))
	for {
		switch c := m.Next(); c.Kind {
		case turn.Ask:
			fact, err := r.ask(ctx, &c, schema)
			if err != nil {
				return broken(err)
			}
			m.Take(fact)
		case turn.Use:
			facts, park, err := r.use(ctx, &c)
			if err != nil {
				return broken(err)
			}
			if park != nil {
				park.Spent = r.spent
				return task.Ending{Park: park}
			}
			for _, fact := range facts {
				m.Take(fact)
			}
		default:
			return r.report(&c.Ending)
		}
	}
}

// report is the ending as others see it.
func (r *run) report(e *turn.Ending) task.Ending {
	return task.Ending{Report: &events.SubJobReported{
		Outcome: e.Outcome, Output: e.Output, Error: e.Fault, Lesson: e.Lesson, RetryAfter: events.Duration(e.RetryAfter), Spent: r.spent,
	}}
}

// broken ends a run that cannot go on: the loop knows better when the run was ended from outside.
func broken(err error) task.Ending {
	return task.Failure(events.CodeUnavailable, "the run cannot go on", err.Error(), "")
}

// unprepared keeps the fault of a missing payload, so that its code survives.
func unprepared(err error) task.Ending {
	var fault *events.Fault
	if errors.As(err, &fault) {
		return task.Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault, Lesson: fault.Error()}}
	}
	return task.Failure(events.CodeExecution, "the workspace of the agent could not be prepared", err.Error(), "")
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // A string always marshals.
	return raw
}
