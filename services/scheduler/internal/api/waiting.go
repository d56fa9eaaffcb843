package api

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// admitted admits a job whose request waits in the queue, and reports whether there was one: it can be stopped then. With
// a user, only a request in that name counts. The request is settled when its turn comes, as one that was admitted before.
func (v *API) admitted(ctx context.Context, id string, of *string) bool {
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
		sender, err := intake.WithSender(ctx, who, asked, err)
		if err != nil { // It is a job of its sender, not of who stops it.
			return false
		}
		if of != nil && !in(sender, *of, m.Body) {
			return false
		}
		_, err = v.admitter.Admit(sender, m.Body, intake.OriginOf(m.Message, intake.QueueName(facts), m.Seq))
		return err == nil
	}
	return false
}

// in reports whether a request is made in the name of a user.
func in(sender context.Context, user string, body []byte) bool {
	r, _ := events.DecodeRequest(body) // Admission refuses one that is not valid.
	who := asker.Of(sender)
	if who == nil {
		return r.User == user
	}
	name, err := who.Named(r.User)
	return err == nil && name == user
}
