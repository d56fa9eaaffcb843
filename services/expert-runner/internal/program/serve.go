package program

import (
	"context"
	"fmt"
	"os/exec"
	"sync"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// Beside is a program that runs for the whole run, beside its calls, in its workspace, and communicates with the runner.
type Beside struct {
	// Dir is the workspace, which it may write to.
	Dir string
	// Policy is what it may do besides writing to Dir.
	Policy sandbox.Policy
	// Ended is called from another goroutine, at most once, when the program was ended because it broke a limit.
	Ended func(why error)
}

// Serve starts a program beside a run. The caller sets its streams and its environment, ends its group, and then calls release.
func (r *Runner) Serve(ctx context.Context, t *expert.Task, cmd *exec.Cmd, b Beside) (group *process.Group, release func(), err error) {
	policy := b.Policy
	policy.Write, policy.Untrusted = append([]string{b.Dir}, policy.Write...), true
	entry, err := r.Box.Wrap(cmd, policy)
	if err != nil {
		return nil, nil, err
	}
	group, err = Start(ctx, cmd, t, r.Keeper)
	entry.Started()
	if err != nil {
		entry.Close()
		return nil, nil, err
	}
	renewed := func() {}
	if t.Claim != nil {
		renewed = t.Claim.Renewed(group.Renew)
	}
	var watching sync.WaitGroup // The goroutine ends with the program.
	full := &Quota{Dir: b.Dir, Limit: policy.Limits.Workspace}
	watching.Go(func() {
		full.Watch(group.Exited(), func() {
			b.Ended(fmt.Errorf("%w: it held more than %d bytes", errFull, full.Limit))
			group.End(r.Grace)
		})
		if _, _, _, fault := entry.Ending(); fault != nil {
			b.Ended(fault)
		}
		entry.Close()
	})
	return group, func() { renewed(); watching.Wait() }, nil
}
