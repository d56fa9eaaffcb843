package loop

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// open begins the span of a run, from which on everything that the run states belongs to it.
func (r *run) open() {
	r.delivery.Trace, r.close = r.loop.Trace(r.delivery.Trace, "run", "job", r.Job, "subjob", r.SubJob, "run", runText(r.Run),
		"attempt", strconv.Itoa(r.Attempt), "expert", r.Expert, "pool", r.Pool, "kind", string(r.Kind), "runner", r.loop.Owner)
}

// closed ends the span of a run that has ended.
func (r *run) closed(e *task.Ending, outcome events.Outcome, published bool) {
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
	r.close(failure, "outcome", string(outcome))
}
