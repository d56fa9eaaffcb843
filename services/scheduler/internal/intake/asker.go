package intake

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

type askerKey struct{}

// WithAsker returns a context that carries the signer of a request.
func WithAsker(ctx context.Context, who *seal.Signer) context.Context {
	return context.WithValue(ctx, askerKey{}, who)
}

// Asker returns the signer of the current request; nil if signatures are not required.
func Asker(ctx context.Context) *seal.Signer {
	who, _ := ctx.Value(askerKey{}).(*seal.Signer)
	return who
}

// Stranger is the signer of unsigned requests: everyone who may send requests may submit a job, without a user.
func Stranger() *seal.Signer { return &seal.Signer{Name: "an unsigned request"} }

// named sets the user for whom a request is made. Errors: events.Faults if its sender may not ask in that name.
func named(ctx context.Context, r *events.Request) error {
	who := Asker(ctx)
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

// WithSender returns a context that carries the sender of a queued request, for whom the bus has found the signature. Errors:
// events.Faults for a signature that does not count.
func WithSender(ctx context.Context, who *seal.Signer, asked bool, err error) (context.Context, error) {
	var fault *events.Fault
	switch {
	case !asked:
		return ctx, nil
	case errors.Is(err, seal.ErrNone):
		who = Stranger()
	case errors.As(err, &fault):
		return ctx, events.Faults{*fault}
	}
	return WithAsker(ctx, who), nil
}
