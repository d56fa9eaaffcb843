package api

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// admitted admits a job whose request waits in the queue, and reports whether there was one: it can be stopped then. The request is
// settled when its turn comes, as one that was admitted before.
func (v *API) admitted(ctx context.Context, id string) bool {
	facts, err := v.bus.Streams().Info(ctx, v.bus.Names().Intake)
	if err != nil {
		return false
	}
	for m, err := range v.bus.Log().Requests(ctx) {
		if err != nil {
			return false
		}
		if bus.RequestedID(m.Body) != id {
			continue
		}
		who, asked, err := v.bus.Log().Signer(m)
		if ctx, err = intake.WithSender(ctx, who, asked, err); err != nil { // It is a job of its sender, not of who stops it.
			return false
		}
		_, err = v.admitter.Admit(ctx, m.Body, intake.OriginOf(m.Message, intake.QueueName(facts), m.Seq))
		return err == nil
	}
	return false
}
