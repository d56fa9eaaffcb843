package api

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// forgetWithin limits how long the sender of a refused request waits for the removal of its payloads. What is left then, `fsck` names.
const forgetWithin = time.Second

// forget removes the payloads that were stored for a request before it was sent, if it was refused and its sender has made its id: then no
// one else has stored anything under the id. The proof keeps strangers, who may read ids on the bus, from having payloads of others removed.
func (v *API) forget(ctx context.Context, body []byte, err error) {
	id := bus.RequestedID(body)
	if !refuses(err) || !v.bus.Services().Made(ctx, id) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forgetWithin)
	defer cancel()
	if err := v.bus.Retention().PurgeSpare(ctx, id); err != nil && !errors.Is(err, bus.ErrNotFound) {
		v.logger.Warn("cannot remove the payloads of a refused request; jobgraph fsck names them", "job", id, "error", err)
	}
}

// refuses reports whether the answer to a request says that the request was not taken and will not be. If the bus has failed, that is not
// known; if there is no room for now, the sender puts the request into the queue; and a job with the same id keeps its payloads.
func refuses(err error) bool {
	var fault *events.Fault
	var faults events.Faults
	switch {
	case err == nil:
		return false
	case errors.As(err, &faults) && len(faults) > 0:
		fault = &faults[0]
	case !errors.As(err, &fault):
		return false
	}
	switch fault.Code {
	case events.CodeUnavailable:
		return fault.Field == "disk"
	case events.CodeConflict:
		return fault.Field != "id"
	}
	return true
}
