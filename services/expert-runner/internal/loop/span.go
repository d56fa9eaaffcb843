package loop

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// span is the span of a run in its trace.
type span struct {
	// close ends it; nil without a collector. The span of a run that is not executed here is dropped.
	close func(failure string, attributes ...string)
}

// startSpan begins the span of a run; later events of the run belong to it.
func startSpan(r *run) (traceparent string, end func(failure string, attributes ...string)) {
	return r.loop.Trace(r.delivery.Trace, "run", "job", r.Job, "subjob", r.SubJob, "run", runText(r.Run),
		"attempt", strconv.Itoa(r.Attempt), "expert", r.Expert, "pool", r.Pool, "kind", string(r.Kind), "runner", r.loop.Owner)
}

// end ends the span of a run that has ended.
func (s *span) end(e *task.Ending, outcome events.Outcome, published bool) {
	failure := ""
	switch {
	case !published:
		failure = "given back before it was reported"
	case e.Report == nil || outcome == events.Success:
	case e.Report.Error != nil:
		failure = e.Report.Error.Error()
	default:
		failure = string(outcome)
	}
	s.close(failure, "outcome", string(outcome))
}
