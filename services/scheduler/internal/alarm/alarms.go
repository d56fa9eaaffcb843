package alarm

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Alarms are the timers of all jobs.
type Alarms struct{ bus *bus.Bus }

// New makes the alarms of a connection, which needs the right to publish timers.
func New(b *bus.Bus) Alarms { return Alarms{b} }

// Arm makes timer.fired come at a moment; arming again replaces. A moment that has passed fires at once.
func (a Alarms) Arm(_ context.Context, job, timer string, at time.Time) loop.Ack {
	return a.bus.Arm(job, timer, at)
}

// Purge disarms all timers of a job.
func (a Alarms) Purge(ctx context.Context, job string) error { return a.bus.PurgeTimers(ctx, job) }
