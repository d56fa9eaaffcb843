package intake

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
)

// named sets the user for whom a request is made. Errors: events.Faults if its sender may not ask in that name.
func named(ctx context.Context, r *events.Request) error {
	who := asker.Of(ctx)
	if who == nil {
		return nil
	}
	user, err := who.Named(r.User)
	var fault *events.Fault
	if errors.As(err, &fault) {
		return events.Faults{*fault}
	}
	r.User = user
	return err
}

// WithSender returns a context with the sender of a queued request, identified by its signature. Errors: events.Faults for an
// invalid signature.
func WithSender(ctx context.Context, who *seal.Signer, asked bool, err error) (context.Context, error) {
	var fault *events.Fault
	switch {
	case !asked:
		return ctx, nil
	case errors.Is(err, seal.ErrNone):
		who = asker.Stranger()
	case errors.As(err, &fault):
		return ctx, events.Faults{*fault}
	}
	return asker.With(ctx, who), nil
}
