package api

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// searches is how many searches of the queue run at once. Each reads all that waits, so more of them would keep the scheduler from its work.
const searches = 2

// admitted admits a job whose request waits in the queue, and reports whether there was one: it can be stopped then. With
// a user, only a request in that name counts. The request is settled when its turn comes, as one that was admitted before. Errors:
// *events.Fault if the queue cannot be searched now.
func (v *API) admitted(ctx context.Context, id string, of *string) (bool, error) {
	facts, err := v.bus.Streams().Info(ctx, v.bus.Names().Intake)
	if err != nil || facts.Messages == 0 {
		return false, nil
	}
	select {
	case v.searching <- struct{}{}:
		defer func() { <-v.searching }()
	default:
		return false, &events.Fault{Code: events.CodeUnavailable, Field: "id", Message: "job " + id + " is not in the log, and others search the queue for theirs", Hint: "try again"}
	}
	return v.search(ctx, intake.QueueName(facts), id, of), nil
}

// search is admitted, while it may search the queue with this name.
func (v *API) search(ctx context.Context, queue, id string, of *string) bool {
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
		_, err = v.admitter.Admit(sender, m.Body, intake.OriginOf(m.Message, queue, m.Seq))
		return err == nil
	}
	return false
}

// in reports whether a request is made in the name of a user.
func in(sender context.Context, user string, body []byte) bool {
	r, _ := intake.RequestOf(body) // Admission refuses one that is not valid.
	who := asker.Of(sender)
	if who == nil {
		return r.User == user
	}
	name, err := who.Named(r.User)
	return err == nil && name == user
}
