package loop

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// span is that of a delivery in its trace, from its being taken until it is settled here or belongs to another planner.
type span struct {
	// close ends it; nil without a collector.
	close func(failure string, attributes ...string)
}

// span begins the span of a delivery. Everything that planning states belongs to it from then on.
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

// end ends the span. outcome is the fact that was stated, empty when there was none.
func (s span) end(failure string, outcome events.Kind) {
	if s.close != nil {
		s.close(failure, "outcome", string(outcome))
	}
}
