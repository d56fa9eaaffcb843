package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrNobody means that a subject has no listener, so the request was not delivered.
var ErrNobody = errors.New("no listener")

// Ask sends a request with headers to the listener of a subject and waits for the answer until ctx ends. A fault is the
// refusal of the service. Errors: ErrNobody, ErrTooLarge, ErrRefused, ErrClosed and ErrNotPermitted if the request was not
// delivered, ErrUnknown if it may have been.
func (s Services) Ask(ctx context.Context, subject string, header map[string][]string, body []byte) (answer []byte, fault *events.Fault, err error) {
	ctx, stop := s.bus.denials.guard(ctx, subject)
	defer stop()
	reply, err := s.bus.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Header: header, Data: body})
	err = refusalIn(ctx, err)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, nil, fmt.Errorf("ask %s: %w", subject, ErrNobody)
	}
	if err != nil {
		if err = class(err); !errors.Is(err, ErrNotPermitted) && (ctx.Err() != nil || errors.Is(err, ErrUnavailable)) {
			err = fmt.Errorf("%w: %v", ErrUnknown, err)
		}
		return nil, nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	return reply.Data, refusedBy(reply), nil
}

// Offer describes an endpoint of a micro service.
type Offer struct {
	// Name is the name of the endpoint, Subject is where it listens.
	Name    string `json:"name"`
	Subject string `json:"subject"`
	// Metadata is what the service declares about the endpoint.
	Metadata map[string]string `json:"metadata"`
}

// Offers lists the endpoints of a micro service, as described by the first instance that answers. Errors: ErrNobody,
// ErrUnavailable.
func (s Services) Offers(ctx context.Context, service string) ([]Offer, error) {
	subject, err := micro.ControlSubject(micro.InfoVerb, service, "")
	if err != nil {
		return nil, fmt.Errorf("ask for service %s: %w: %v", service, ErrRefused, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	body, _, err := s.Ask(ctx, subject, nil, nil)
	if errors.Is(err, ErrUnknown) {
		return nil, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	if err != nil {
		return nil, err
	}
	var info struct {
		Endpoints []Offer `json:"endpoints"`
	}
	if err := json.Unmarshal(body, &info); err != nil {
		return nil, fmt.Errorf("service %s describes itself with what is no JSON: %w", service, ErrRefused)
	}
	return info.Endpoints, nil
}
