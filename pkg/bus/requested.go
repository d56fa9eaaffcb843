package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// Requested yields job.requested of every job admitted between two log sequences, both inclusive, in order. Errors:
// ErrNotFound, ErrUnavailable.
func (l *Log) Requested(ctx context.Context, from, to uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		filter := l.bus.names.Prefix() + ".event.*.*." + string(events.KindJobRequested)
		err := l.bus.each(ctx, l.bus.names.Log, filter, from, to, func(s Stored) bool {
			e, ok := l.Event(s)
			return !ok || yield(e, nil)
		})
		if err != nil {
			yield(events.Event{}, fmt.Errorf("read requests %d to %d: %w", from, to, err))
		}
	}
}

// Requests yields the queued requests that no scheduler has admitted yet, in order. Errors: ErrNotFound, ErrUnavailable.
func (l *Log) Requests(ctx context.Context) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		if err := l.read(ctx, l.bus.names.Intake, l.bus.names.Request(), 0, yield); err != nil {
			yield(Stored{}, fmt.Errorf("read the requests that wait: %w", err))
		}
	}
}

// Signer is Delivery.Signer for the sender of a queued request.
func (l *Log) Signer(s Stored) (who *seal.Signer, asked bool, err error) {
	return l.bus.sealing.signer(&s.Message, s.Time)
}

// RequestedID returns the job id in a queued request; "" if there is none or it cannot be parsed.
func RequestedID(body []byte) string {
	var r struct {
		ID   string          `json:"id"`
		Spec string          `json:"specversion"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &r) != nil {
		return ""
	}
	if r.Spec != "" && len(r.Data) > 0 { // A CloudEvent has an id of its own.
		return RequestedID(r.Data)
	}
	return r.ID
}
