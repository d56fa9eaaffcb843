package loop

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// source is the CloudEvents source of everything that the scheduler publishes.
const source = "jobgraph/scheduler"

// sending publishes the commands of one batch. It lasts until the last of them is published.
type sending struct {
	*outbox
	batch  *inFlightBatch
	packer packer
}

// issue starts all pending commands of a job. If they quarantine it, none of them will be marked as sent.
func (s *sending) issue(ctx context.Context, j *job) error {
	begun := len(s.batch.pending)
	err := recovered(j.id, func() error { return s.start(ctx, j) })
	if err == nil {
		return nil
	}
	s.batch.pending = s.batch.pending[:begun]
	s.batch.spans.end(j, err)
	return s.isolator.judge(ctx, j, err)
}

// start starts all pending commands of a job, its closes of runs before any other command. Errors: those that end the partition or
// quarantine the job; all others are outcomes of their commands.
func (s *sending) start(ctx context.Context, j *job) error {
	commands := s.admission.pending(j)
	trace := s.beginSpan(ctx, j, commands)
	closes := 0
	for closes < len(commands) && commands[closes].Kind == graph.CloseRun {
		closes++
	}
	b := s.batch
	if closes > 0 {
		b.pending = append(b.pending, closer{s.env}.closeRuns(ctx, j, commands[:closes])...)
	}
	for i := closes; i < len(commands); i++ {
		ack, err := s.command(ctx, j, &commands[i], trace)
		if crashed(err) || isQuarantine(err) {
			return err
		}
		b.pending = append(b.pending, pendingAck{job: j, cmd: &commands[i], ack: ack, err: err})
	}
	return nil
}

// command starts to carry out one command, in the trace of its step. The returned ack tells its outcome.
func (s *sending) command(ctx context.Context, j *job, cmd *graph.Command, trace string) (Ack, error) {
	switch cmd.Kind {
	case graph.RunSubJob:
		return s.issueRun(ctx, j, cmd, trace)
	case graph.StateFact, graph.CloseInput:
		m, err := s.fact(j.id, cmd)
		if err != nil {
			return nil, err
		}
		return s.publish(m, Expect{})
	case graph.EndJob:
		ack, err := s.end(ctx, j, cmd)
		if err == nil && (cmd.PurgeTimers || j.reminder.armed) {
			ack = &ending{ack, s.env, j.id}
		}
		return ack, err
	case graph.ArmTimer:
		if err := s.at(AtPublish); err != nil {
			return nil, err
		}
		return s.Alarms.Arm(ctx, j.id, cmd.Key, cmd.At), nil
	case graph.ReapJob:
		if err := s.at(AtReap); err != nil {
			return nil, err
		}
		return &reaping{folder: s.builder.folder, job: j.id, state: j.state, whole: j.basis == logBasis}, nil
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
