package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
)

// retryLetter tries a dead letter again, and removes it. A quarantined job, which has no letter, is resumed.
func (v *API) retryLetter(ctx context.Context, body []byte) (any, error) {
	var r verb.LetterRetry
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if !strings.Contains(r.ID, ":") {
		return v.release(ctx, &r)
	}
	letters := v.bus.DeadLetters()
	a, err := letters.Get(ctx, r.ID)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("nothing is set aside as %.80q", r.ID), Hint: "jobgraph dlq ls"}
	case err != nil:
		return nil, err
	case a.Kind == bus.DeadFact:
		return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: r.ID + " has no signature that counts", Hint: "ask again with a key that may"}
	case !a.Whole:
		return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: r.ID + " was too large to be kept whole", Hint: "send it again from where it came"}
	case a.Kind == bus.DeadRequest:
		return v.readmit(ctx, &a)
	}
	err = letters.Requeue(ctx, &a)
	switch {
	case errors.Is(err, bus.ErrConflict):
		return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: a.Message.Subject + " has a message that waits", Hint: "try again when it was taken"}
	case errors.Is(err, bus.ErrRefused):
		return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: r.ID + " cannot be tried again", Cause: err.Error(), Hint: "find out whose key wrote it"}
	}
	return verb.Retried{}, err
}

// readmit admits a request for the signer who originally sent it, even if another asks for the retry.
func (v *API) readmit(ctx context.Context, a *bus.DeadLetter) (any, error) {
	if refused := v.gate.Refusal(ctx, v.bus.Names().Request()); refused != nil {
		return nil, refused
	}
	who, asked, err := v.bus.DeadLetters().Signer(a)
	if ctx, err = intake.WithSender(ctx, who, asked, err); err != nil {
		return nil, err
	}
	m := a.Message
	// The same letter always makes the same job.
	origin := intake.Origin{Nonce: "dlq " + a.ID() + " " + a.Time.Format(time.RFC3339Nano), Trace: m.Get(events.HeaderTrace), Zone: m.Get(events.HeaderZone)}
	admission, err := v.admitter.Admit(ctx, m.Body, origin)
	if err != nil {
		return admission, err
	}
	return verb.Retried{JobID: admission.JobID}, v.bus.DeadLetters().Drop(ctx, a)
}

// release lets the scheduler handle a quarantined job again; it is quarantined again unless the cause was repaired.
func (v *API) release(ctx context.Context, r *verb.LetterRetry) (any, error) {
	if !v.leftAlone(ctx, r.ID) {
		if _, err := v.fold(ctx, r.ID); err != nil {
			return nil, err
		}
		return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: "job " + r.ID + " is not in quarantine", Hint: "jobgraph get " + r.ID}
	}
	err := v.record(ctx, r.ID, events.KindRecoverRequested, &events.RecoverRequested{By: cmp.Or(r.By, "dlq")})
	return verb.Retried{JobID: r.ID}, err
}
