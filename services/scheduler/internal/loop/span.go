package loop

import (
	"context"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// spans are the functions that end the spans of jobs: each job has one for the commands that are sent together. Nil without a
// collector.
type spans map[*job]func(failure string, attributes ...string)

// end ends the span of a job that failed.
func (s spans) end(j *job, failure error) {
	if end := s[j]; end != nil {
		end(failure.Error())
		delete(s, j)
	}
}

// beginSpan begins the span of the commands of a job, under the span in which the job was admitted, and returns its traceparent; ""
// without a collector.
func (s *sending) beginSpan(ctx context.Context, j *job, commands []graph.Command) (traceparent string) {
	if s.Trace == nil || len(commands) == 0 {
		return ""
	}
	_, trace, err := s.builder.requested(ctx, j)
	if err != nil {
		return "" // The work builder meets the same error and handles it.
	}
	work := 0
	for i := range commands {
		if commands[i].Kind == graph.RunSubJob {
			work++
		}
	}
	traceparent, end := s.Trace(trace, "step", "job", j.id, "seq", strconv.FormatUint(j.state.Seq, 10),
		"status", string(j.state.Status), "commands", strconv.Itoa(len(commands)), "work", strconv.Itoa(work))
	if s.batch.spans == nil {
		s.batch.spans = spans{}
	}
	s.batch.spans[j] = end
	return traceparent
}

// endSpans ends the spans of a batch, those of jobs with a failed command as failed.
func (b *inFlightBatch) endSpans() {
	for i := range b.pending {
		if s := &b.pending[i]; s.err != nil && !isConflict(s.err) {
			b.spans.end(s.job, s.err)
		}
	}
	for _, end := range b.spans { // any order: they are independent.
		end("")
	}
}
