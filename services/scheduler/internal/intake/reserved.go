package intake

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// reserved refuses a new job under the id of a run of a schedule: the run could not begin. A job that has the id already keeps it, so
// that its request may be repeated.
func (a *Admitter) reserved(ctx context.Context, id string, origin Origin) error {
	name, _, run := schedule.RunOf(id)
	if !run || origin.Scheduled || a.Schedules == nil {
		return nil
	}
	exists, err := a.Schedules.Exists(ctx, name)
	if err != nil || !exists {
		return err
	}
	for _, err := range a.log.EventsOf(ctx, id, 0) {
		if err != nil {
			return fmt.Errorf("read the job of the same id: %w", err)
		}
		return nil
	}
	return events.Faults{{
		Code: events.CodeConflict, Field: "id", Message: "job " + id + " would be a run of schedule " + name,
		Hint: "choose another id, or leave it out; `jobgraph schedule trigger " + name + "` begins a run now",
	}}
}
