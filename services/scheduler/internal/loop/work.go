package loop

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// issueRun publishes the work of a run, by itself or in a batch.
func (s *sending) issueRun(ctx context.Context, j *job, cmd *graph.Command, trace string) (Ack, error) {
	m, err := s.builder.build(ctx, j, cmd, trace)
	if err != nil {
		return nil, err
	}
	to := address{cmd.Order.Pool, cmd.Order.Expert}
	if s.packs(to) {
		return s.packer.add(to, j.id, m)
	}
	return s.publish(m.Message(), Expect{})
}

// refuse publishes a report in the worker's place for a run whose work does not fit a message.
func (o *outbox) refuse(ctx context.Context, j *job, cmd *graph.Command, cause error) error {
	report := &events.SubJobReported{Outcome: events.ExecutionError, Error: &events.Fault{
		Code: events.CodeTooLarge, Message: "the work does not fit a message", Cause: cause.Error(),
		Hint: "shorten goal and context of the SubJob, or hand long texts over as inputs",
	}}
	m, err := events.Encode(o.Names, events.Event{
		Kind: events.KindSubJobReported, ID: run.ID(j.born(), cmd.SubJob, cmd.Run),
		Job: j.id, SubJob: cmd.SubJob, Run: cmd.Run, Source: source, Data: report,
	})
	if err != nil {
		return err
	}
	ack, err := o.publish(m, Expect{})
	if err != nil {
		return err
	}
	if _, err = ack.Wait(ctx); isConflict(err) {
		return nil
	}
	return err
}
