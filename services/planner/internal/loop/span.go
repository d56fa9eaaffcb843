package loop

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// span is the trace span of a delivery, from its receipt until it is settled here or another planner takes over.
type span struct {
	// close ends the span; nil without a collector.
	close func(failure string, attributes ...string)
}

// span begins the span of a delivery, the parent of everything that planning publishes.
func (l *Loop) span(d *queue.Delivery) span {
	if l.Trace == nil {
		return span{}
	}
	attributes := []string{"expert", events.PlannerPool}
	if at, err := run.ReadAddress(l.Names, d.Subject); err == nil {
		attributes = append(attributes, "job", at.Job, "subjob", at.SubJob, "run", strconv.Itoa(at.Run))
	}
	var s span
	d.Trace, s.close = l.Trace(d.Trace, "plan", attributes...)
	return s
}

// end ends the span. outcome is the published fact, empty if there is none.
func (s span) end(failure string, outcome events.Kind) {
	if s.close != nil {
		s.close(failure, "outcome", string(outcome))
	}
}
