package command

import (
	"context"
	"errors"
	"os/exec"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Expert runs one program per task. It has no state and may run any number of tasks at once.
type Expert struct{ config Config }

// New checks the configuration and finds the program. The error contains advice.
func New(c Config) (*Expert, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	return &Expert{config: c}, nil
}

// Run implements expert.Runner.
func (x *Expert) Run(ctx context.Context, t *expert.Task) task.Ending {
	s := workspace.Settings{Parent: x.config.Workspaces, KeepFailed: x.config.KeepFailed, Artifacts: x.config.Artifacts}
	return workspace.With(ctx, t, s, func(dir string) task.Ending { return x.run(ctx, t, dir) })
}

func (x *Expert) run(ctx context.Context, t *expert.Task, dir string) task.Ending {
	input, err := stdin(ctx, t, dir)
	if err != nil {
		return workspace.Unfilled(err, "the input of the program could not be prepared")
	}
	// The command has no context of its own: with one, os/exec would signal only the leader instead of the whole group.
	cmd := &exec.Cmd{Path: x.config.Argv[0], Args: x.config.Argv, Dir: dir, Env: x.config.environ(dir, facts(t, dir))}
	e, err := x.config.run(ctx, cmd, input, t)
	if err != nil {
		failure := task.Failure(events.CodeExecution, "the program could not be run", err.Error(), "check the command and the sandbox on the expert's card")
		var cut *cutOff
		if errors.As(err, &cut) {
			failure.Cut = cut.Error()
		}
		return failure
	}
	if e.stderr != "" {
		t.Log.Debug("program wrote to standard error", "text", e.stderr)
	}
	return e.ending(&x.config)
}
