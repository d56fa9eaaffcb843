package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrLost means that the log has lost a job whose saved state still exists.
var ErrLost = errors.New("the log has lost the job")

// orphans handles events without a job. It has no state.
type orphans struct{ *env }

// drop purges events of a job without a request, and the state that an interrupted deletion may have left.
func (o *orphans) drop(ctx context.Context, job string, list []events.Event) error {
	if len(list) > 0 {
		err := o.Sweeper.PurgeRest(ctx, job)
		if errors.Is(err, ErrLost) {
			o.Logger.Error("the log has lost the beginning of a running job; keeping its saved state and the rest of its log", "job", job,
				"count", len(list), "seq", list[0].Seq, "hint", "restore the log from a backup, or `jobgraph delete "+job+"`; `jobgraph fsck` finds all such jobs")
			return nil
		}
		if err != nil {
			return fmt.Errorf("purge events of a job that does not exist: %w", err)
		}
		for range list {
			o.Meter.Count(Orphans, "")
		}
		o.Logger.Warn("removing events of a job that does not exist", "job", job, "count", len(list), "kind", string(list[0].Kind))
	}
	o.announce(job, list)
	return nil
}

// announce publishes reports for an unknown job on the subject of rejections, once for all that were found together: their sender
// has no other way to learn of it. The message is not stored, so a flood fills nothing. The fault names the job in its text, but
// the rejection has no job id: a client that waits for the admission of a request with this id must not take the rejection for its
// own.
func (o *orphans) announce(job string, list []events.Event) {
	reports := 0
	for i := range list {
		if list[i].Kind == events.KindSubJobReported {
			reports++
		}
	}
	if reports == 0 {
		return
	}
	body, err := json.Marshal(events.Rejection{Faults: events.Faults{{
		Code: events.CodeNotFound, Field: "job", Message: fmt.Sprintf("job %s does not exist: %d reports for it were dropped", job, reports),
		Hint: "report on the subject that the work message names, while its job is there",
	}}})
	if err == nil {
		err = o.Publisher.Tell(o.Names.Rejected(), body)
	}
	if err != nil {
		o.Logger.Warn("cannot announce the rejection", "job", job, "error", err)
	}
}
