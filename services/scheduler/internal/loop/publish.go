package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// source is the CloudEvents source of everything the scheduler states.
const source = "jobgraph/scheduler"

// publish sends what the touched jobs owe, one round for all of them at once. Nobody waits for it: the jobs of a round are on the
// way until it lands, and what they owe then is the next one. A job whose command fails is tried again later; the others go on.
func (p *Partition) publish(ctx context.Context) error {
	list := make([]*job, 0, len(p.touched))
	p.refused = false
	for _, j := range p.touched {
		p.tally(ctx, j)
		if j.flying {
			continue
		}
		if j.state != nil && j.fault == nil && (j.moved || j.owing) {
			j.moved, j.owing = false, false
			err := p.contain(ctx, j, func() error { return p.claim(ctx, j) })
			switch {
			case crashed(err):
				return err
			case err != nil:
				p.postpone(j, err)
			case j.state != nil:
				list = append(list, j)
			}
		}
	}
	if err := p.depart(ctx, list); err != nil {
		return err
	}
	return p.takeTurns(ctx)
}

// issue begins everything that the jobs owe now. Runs are closed before anything else of their job is said.
func (p *Partition) issue(ctx context.Context, list []*job) (round []sending, err error) {
	for _, j := range list {
		err := p.contain(ctx, j, func() error {
			commands := p.pending(j)
			if p.Trace != nil && len(commands) > 0 {
				p.beginStep(ctx, j, commands)
			}
			closes := 0
			for closes < len(commands) && commands[closes].Kind == graph.CloseRun {
				closes++
			}
			begun := len(round)
			if closes > 0 {
				round = append(round, p.closeRuns(ctx, j, commands[:closes])...)
			}
			for i := closes; i < len(commands); i++ {
				s := sending{job: j, cmd: &commands[i]}
				s.ack, s.err = p.send(ctx, j, s.cmd)
				if crashed(s.err) || isQuarantine(s.err) {
					round = round[:begun]
					return s.err
				}
				round = append(round, s)
			}
			return nil
		})
		if err != nil {
			return round, err
		}
	}
	return round, p.packer.flush()
}

func isQuarantine(err error) bool {
	if err == nil {
		return false
	}
	var q *quarantine
	return errors.As(err, &q)
}

// delivered decides what the outcome of a command means for its job.
func (p *Partition) delivered(ctx context.Context, s *sending) error {
	j := s.job
	switch {
	case s.err == nil:
		p.count(s.cmd)
		p.afterwards(s)
	case errors.Is(s.err, ErrConflict) && s.cmd.Kind == graph.EndJob:
		// Somebody asked for something since: what ends, or whether anything does, is to be decided again.
		j.forget()
		return s.err
	case errors.Is(s.err, ErrConflict):
		// It is there already: an earlier life, or another scheduler, has said the same.
	case errors.Is(s.err, ErrUnknown):
		j.forget()
		return s.err
	case errors.Is(s.err, errNoEnd):
		j.forget()
		j.distrusted = true
		return s.err
	case errors.Is(s.err, ErrTooLarge) && s.cmd.Kind == graph.RunSubJob:
		if err := p.refuse(ctx, j, s.cmd, s.err); err != nil {
			return err
		}
	default:
		return s.err
	}
	if j.state != nil {
		j.state.Sent(s.cmd.CommandID)
		j.failures = 0
	}
	return nil
}

// afterwards does what belongs behind the publishing of a command.
func (p *Partition) afterwards(s *sending) {
	switch {
	case s.cmd.Kind == graph.EndJob:
		s.job.armed = false
	case s.cmd.Kind == graph.ReapJob && !s.deleted(): // It is too young.
	case s.cmd.Kind == graph.ReapJob && len(s.job.news) > 0:
		s.job.forget() // What came since is of no job, or of the next one: the log says.
	case s.cmd.Kind == graph.ReapJob:
		p.release(s.job)
	}
}

// count feeds the metrics with what this scheduler, and no other, has stated.
func (p *Partition) count(cmd *graph.Command) {
	switch cmd.Kind {
	case graph.StateFact, graph.CloseInput:
		p.Meter.Count(Published, string(cmd.Fact))
		if cmd.Fact == events.KindGraphReplaced {
			p.Meter.Count(Replanned, replanned(cmd))
		}
	case graph.EndJob:
		p.Meter.Count(Published, string(cmd.Fact))
		if end, ok := cmd.Data.(*events.JobEnded); ok {
			p.Meter.Count(Ended, string(end.Status))
		}
	case graph.CloseRun:
		p.Meter.Count(Published, string(events.KindSubJobClosed))
	}
}

// send begins one command.
func (p *Partition) send(ctx context.Context, j *job, cmd *graph.Command) (Ack, error) {
	switch cmd.Kind {
	case graph.RunSubJob:
		return p.issueRun(ctx, j, cmd)
	case graph.StateFact, graph.CloseInput:
		m, err := p.fact(j.id, cmd)
		if err != nil {
			return nil, err
		}
		return p.publishAs(m, Expect{})
	case graph.EndJob:
		ack, err := p.end(ctx, j, cmd)
		if err == nil && (cmd.PurgeTimers || j.armed) {
			ack = &ending{ack, p, j.id}
		}
		return ack, err
	case graph.ArmTimer:
		if err := p.at(AtPublish); err != nil {
			return nil, err
		}
		return p.Alarms.Arm(ctx, j.id, cmd.Key, cmd.At), nil
	case graph.ReapJob:
		if err := p.at(AtReap); err != nil {
			return nil, err
		}
		return &reaping{p: p, job: j.id, state: j.state, whole: j.whole}, nil
	}
	panic(fmt.Sprintf("unknown command %q", cmd.Kind))
}

// purgeTimers takes back what is armed for a job that has ended.
func (p *Partition) purgeTimers(ctx context.Context, job string) error {
	if err := p.at(AtEndPurgeTimers); err != nil {
		return err
	}
	if err := p.Alarms.Purge(ctx, job); err != nil {
		return fmt.Errorf("purge timers: %w", err)
	}
	return nil
}

// ending is the end of a job, behind which its timers are taken back. Both are waited for beside the loop.
type ending struct {
	Ack
	p   *Partition
	job string
}

// Wait gives the outcome of both.
func (e *ending) Wait(ctx context.Context) (uint64, error) {
	seq, err := e.Ack.Wait(ctx)
	if err != nil {
		return seq, err
	}
	return seq, e.p.purgeTimers(ctx, e.job)
}

func (p *Partition) publishAs(m events.Message, expect Expect) (Ack, error) {
	if err := p.at(AtPublish); err != nil {
		return nil, err
	}
	return p.Publisher.Publish(m, expect), nil
}
