package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// handler answers a verb.
type handler = func(ctx context.Context, body []byte) (any, error)

// signed wraps the handler of a verb so that it checks the signature of each request, like asker.Checked.
func (v *API) signed(name string, answer handler) handler {
	signatures := v.bus.Services()
	if name != "submit" {
		return asker.Checked(name, signatures, answer)
	}
	return func(ctx context.Context, body []byte) (any, error) { // Admission checks the user, since its field has several names.
		who, asked, err := signatures.Signer(ctx)
		if ctx, err = intake.WithSender(ctx, who, asked, err); err != nil {
			return nil, err
		}
		return answer(ctx, body)
	}
}

// mayEnd returns why the asker may not end a job: without the right operator, they may end only their own. One that waits in the
// queue is admitted first: whose job it is, the log says.
func (v *API) mayEnd(ctx context.Context, name string, r *verb.Ending) error {
	who := asker.Of(ctx)
	row, _ := verb.Find(name)
	if who == nil || row.Permits(asker.Rights(who)) {
		return nil
	}
	if err := validID(r.ID); err != nil {
		return err
	}
	mine, err := who.Named(r.By)
	if err != nil {
		return err
	}
	e, err := v.bus.Log().LastOf(ctx, r.ID, events.KindJobRequested)
	if err == nil && e.Seq == 0 && r.SubJob == "" {
		var there bool
		if there, err = v.admitted(ctx, r.ID, &mine); there {
			e, err = v.bus.Log().LastOf(ctx, r.ID, events.KindJobRequested)
		}
	}
	if err != nil {
		return err
	}
	if e.Seq == 0 {
		return noJob(r.ID)
	}
	if first, ok := e.Data.(*events.JobRequested); ok && first.Request.User == mine {
		return nil
	}
	return &events.Fault{Code: events.CodeNotPermitted, Field: "id", Message: fmt.Sprintf("%s may %s only its own jobs", who.Name, name), Hint: "it takes a key with the right " + row.Needs()}
}

// mayApprove returns why the asker may not answer a question: one that permits an action needs an approver.
func mayApprove(ctx context.Context, kind events.InputKind) error {
	who := asker.Of(ctx)
	if who == nil || kind != events.InputApproval && kind != events.InputUnknown {
		return nil
	}
	if slices.Contains(who.Rights, string(verb.Approver)) || slices.Contains(who.Rights, string(verb.Admin)) {
		return nil
	}
	return &events.Fault{Code: events.CodeNotPermitted, Field: "request", Message: who.Name + " may not approve actions", Hint: "it takes a key with the right approver"}
}
