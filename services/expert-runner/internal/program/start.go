package program

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// startWithin is how long after a check of the claim a program may be started; a runner that was suspended in between checks again.
const startWithin = time.Second

// Start starts a program of a task if this runner still has the claim. A keeper of a run without a claim lasts as long as
// the runner.
func Start(ctx context.Context, cmd *exec.Cmd, t *expert.Task, keeper *process.Keeper) (*process.Group, error) {
	for {
		until := process.Now().After(startWithin)
		if err := t.Confirm(ctx); err != nil {
			return nil, err
		}
		if t.Claim == nil {
			return keeper.Keep(cmd)
		}
		group, err := keeper.StartUntil(cmd, until)
		if !errors.Is(err, process.ErrLate) {
			return group, err
		}
	}
}
