package loop

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// source is the CloudEvents source of everything that the scheduler publishes.
const source = "jobgraph/scheduler"

// command starts to carry out one command. The returned ack tells its outcome.
func (o *outbox) command(ctx context.Context, j *job, cmd *graph.Command) (Ack, error) {
	switch cmd.Kind {
	case graph.RunSubJob:
		return o.issueRun(ctx, j, cmd)
	case graph.StateFact, graph.CloseInput:
		m, err := o.fact(j.id, cmd)
		if err != nil {
			return nil, err
		}
		return o.publish(m, Expect{})
	case graph.EndJob:
		ack, err := o.end(ctx, j, cmd)
		if err == nil && (cmd.PurgeTimers || j.reminder.armed) {
			ack = &ending{ack, o.env, j.id}
		}
		return ack, err
	case graph.ArmTimer:
		if err := o.at(AtPublish); err != nil {
			return nil, err
		}
		return o.Alarms.Arm(ctx, j.id, cmd.Key, cmd.At), nil
	case graph.ReapJob:
		if err := o.at(AtReap); err != nil {
			return nil, err
		}
		return &reaping{folder: o.builder.folder, job: j.id, state: j.state, whole: j.whole}, nil
	}
	panic(fmt.Sprintf("unknown command %q", cmd.Kind))
}

// ending publishes the end of a job and then purges the job's timers. Both are awaited outside the loop.
type ending struct {
	Ack
	env *env
	job string
}

// Wait returns the outcome of publishing the end, and the error if the timers could not be purged.
func (e *ending) Wait(ctx context.Context) (uint64, error) {
	seq, err := e.Ack.Wait(ctx)
	if err != nil {
		return seq, err
	}
	if err := e.env.at(AtEndPurgeTimers); err != nil {
		return seq, err
	}
	if err := e.env.Alarms.Purge(ctx, e.job); err != nil {
		return seq, fmt.Errorf("purge timers: %w", err)
	}
	return seq, nil
}
