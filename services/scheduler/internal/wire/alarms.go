package wire

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Arm makes timer.fired come at a moment; arming again replaces. The broker fires it, this process may be gone: it comes back in the log
// of its job. A moment that has passed fires at once.
func (p Ports) Arm(_ context.Context, job, timer string, at time.Time) loop.Ack {
	return pending{p.bus.Timers().Arm(job, timer, at)}
}

// Purge disarms all timers of a job.
func (p Ports) Purge(ctx context.Context, job string) error { return p.bus.Timers().Purge(ctx, job) }
