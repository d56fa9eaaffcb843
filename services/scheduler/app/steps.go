package app

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// steps executes steps that recur: it creates their schedules.
func (r *scheduler) steps(work context.Context) host.Member {
	return host.Member{Name: "steps that recur", Run: func(ctx context.Context, ready func()) error {
		var queue *bus.Subscription
		err := bus.Await(ctx, func() (err error) {
			queue, err = r.bus.Queues().Consume(ctx, r.bus.Queues().ForeignConsumer(schedule.Pool))
			return err
		})
		if err != nil {
			return err
		}
		defer queue.Stop()
		ready()
		return r.keeper.Steps(ctx, work, queue)
	}}
}
