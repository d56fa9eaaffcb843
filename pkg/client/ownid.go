package client

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// OwnID is a job id that this program has made for one request, and can prove to schedulers to have made. If a scheduler answers that it
// does not take the request, it removes what is stored under the id, such as files of Attach. It removes nothing that others may need: as long
// as the request is in the queue or set aside, or anything else has the id. The zero value proves nothing.
type OwnID struct{ id, proof string }

// NewOwnID makes an id like NewID.
func NewOwnID() (OwnID, error) {
	id, proof, err := bus.ProvenID()
	return OwnID{id, proof}, err
}

// String returns the id.
func (o OwnID) String() string { return o.id }

type ownKey struct{}

// With returns a context for Submit or Ask of the request with this id.
func (o OwnID) With(ctx context.Context) context.Context {
	if o.id == "" {
		return ctx
	}
	return context.WithValue(ctx, ownKey{}, o)
}

// proven returns a context for a request to a scheduler that proves who has made the id, if that was this program.
func proven(ctx context.Context, id string) context.Context {
	if own, ok := ctx.Value(ownKey{}).(OwnID); ok && own.id == id {
		return bus.WithProof(ctx, own.proof)
	}
	return ctx
}
