package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrLost means that the log has lost a job of which a saved state is left.
var ErrLost = errors.New("the log has lost the job")

// dropOrphan purges events of a job that has no request, with the state that a deletion may have left when it was cut off.
func (p *Partition) dropOrphan(ctx context.Context, j *job, orphans []events.Event) error {
	if len(orphans) > 0 {
		err := p.Sweeper.PurgeRest(ctx, j.id)
		if errors.Is(err, ErrLost) {
			p.Logger.Error("the log has lost the beginning of a job in motion: its saved state and what is left of its log are kept", "job", j.id,
				"count", len(orphans), "seq", orphans[0].Seq, "hint", "restore the log from a backup, or `jobgraph delete "+j.id+"`; `jobgraph fsck` finds all such jobs")
			p.release(j)
			return nil
		}
		if err != nil {
			return fmt.Errorf("purge events of a job that does not exist: %w", err)
		}
		for range orphans {
			p.Meter.Count(Orphans, "")
		}
		p.Logger.Warn("events of a job that does not exist", "job", j.id, "count", len(orphans), "kind", string(orphans[0].Kind))
	}
	p.announce(j.id, orphans)
	p.release(j)
	return nil
}

// announce tells whoever listens to rejections of reports for a job that does not exist, once for all that were found together:
// their sender has no other way to hear of it. Nothing keeps that, so no flood of them fills anything. The fault names the job,
// and not the rejection: whoever waits for the admission of a request with this id would take it for his own.
func (p *Partition) announce(job string, orphans []events.Event) {
	reports := 0
	for i := range orphans {
		if orphans[i].Kind == events.KindSubJobReported {
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
		err = p.Publisher.Tell(p.Names.Rejected(), body)
	}
	if err != nil {
		p.Logger.Warn("rejection was not announced", "job", job, "error", err)
	}
}
