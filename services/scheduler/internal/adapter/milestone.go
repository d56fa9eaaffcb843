package adapter

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// houseSources begin the sources of events of our own services.
const houseSources = "jobgraph/"

// milestone passes a third-party worker's milestone on to the live items of its SubJob; our own workers pass on theirs. A
// redelivery makes the same item again. The subject names the pool of the fact, so that it counts where the fact counts.
func (f *Feed) milestone(d *bus.Delivery, e *events.Event) {
	p, ok := e.Data.(*events.SubJobProgressed)
	if !ok || d.Delivered() > 1 || len(e.Source) >= len(houseSources) && e.Source[:len(houseSources)] == houseSources {
		return
	}
	i := item.Item{
		Type: item.Progress, ID: "progress/" + strconv.FormatUint(e.Seq, 10), At: e.Time.UTC(), Run: e.Run, Done: true,
		Text: item.Milestone(p),
	}
	if body, err := item.Encode([]item.Item{i}); err == nil {
		_ = f.bus.Items().Send(e.Job, e.SubJob, e.Pool, body) // Best effort, like every live item.
	}
}
