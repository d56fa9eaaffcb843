package adapter

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Arm makes the broker publish timer.fired in the job's log at a given time, even if this process is gone. Arming again replaces
// the timer; a time in the past fires at once.
func (p Ports) Arm(_ context.Context, job, timer string, at time.Time) loop.Ack {
	return p.bus.Timers().Arm(job, timer, at)
}

// Purge disarms all timers of a job.
func (p Ports) Purge(ctx context.Context, job string) error { return p.bus.Timers().Purge(ctx, job) }
