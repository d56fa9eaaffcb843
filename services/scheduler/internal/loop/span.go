package loop

import (
	"context"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// span is the span of one batch of commands of one job. The zero value is no span.
type span struct {
	traceparent string
	end         func(failure string, attributes ...string)
}

// beginStep begins the span of a batch of commands, under the span in which the job was admitted.
func (o *outbox) beginStep(ctx context.Context, j *job, commands []graph.Command) {
	_, trace, err := o.builder.requested(ctx, j)
	if err != nil {
		return // The work builder meets the same error and handles it.
	}
	work := 0
	for i := range commands {
		if commands[i].Kind == graph.RunSubJob {
			work++
		}
	}
	j.step.traceparent, j.step.end = o.Trace(trace, "step", "job", j.id, "seq", strconv.FormatUint(j.state.Seq, 10),
		"status", string(j.state.Status), "commands", strconv.Itoa(len(commands)), "work", strconv.Itoa(work))
}

// endSteps ends the spans of a batch.
func endSteps(list []*job, pending []pendingAck) {
	for i := range pending {
		if s := &pending[i]; s.err != nil && !isConflict(s.err) && s.job.step.end != nil {
			s.job.step.end(s.err.Error())
			s.job.step = span{}
		}
	}
	for _, j := range list {
		if j.step.end != nil {
			j.step.end("")
			j.step = span{}
		}
	}
}
