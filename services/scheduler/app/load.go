package app

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// load tells how much work all schedulers have. The partitions of this process report theirs; for other schedulers, it is estimated
// from the events that the broker counts as unacknowledged.
type load struct {
	*intake.Gauge
	bus   *bus.Bus
	specs []bus.ConsumerSpec
}

// eventsInMotion estimates how many unacknowledged events an active job has, measured with jobs of ten SubJobs.
const eventsInMotion = 4

// There adds up the unacknowledged events of all partitions' consumers.
func (l *load) There(ctx context.Context) (intake.Motion, error) {
	var sum intake.Motion
	for _, spec := range l.specs {
		facts, err := l.bus.Queues().Info(ctx, spec.Stream, spec.Durable)
		if err != nil {
			return sum, err
		}
		sum.Jobs += (facts.Unsettled + int(facts.Pending)) / eventsInMotion
		sum.Seen = max(sum.Seen, facts.Seen)
	}
	return sum, nil
}
