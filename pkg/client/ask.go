package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// ask calls the service that answers a verb and decodes its answer into told; told may be nil.
func (c *Client) ask(ctx context.Context, name string, request, told any) error {
	answer, fault, err := callVerb(ctx, c, name, request)
	switch {
	case err != nil:
		return err
	case fault == nil && told != nil:
		return json.Unmarshal(answer, told)
	case fault == nil:
		return nil
	case fault.Code == events.CodeNotFound:
		return fmt.Errorf("%w: %w", ErrNotFound, fault)
	case fault.Code == events.CodeConflict:
		return fmt.Errorf("%w: %w", ErrConflict, fault)
	case fault.Code == events.CodeNotPermitted:
		return fmt.Errorf("%w: %w", bus.ErrNotPermitted, fault)
	}
	return fault
}

// askWhole is like ask, for a verb whose answer lists all faults of the request.
func askWhole(ctx context.Context, c *Client, name string, request, told any) error {
	answer, fault, err := callVerb(ctx, c, name, request)
	switch {
	case err != nil:
		return err
	case fault != nil:
		return refusal(answer, fault)
	}
	return json.Unmarshal(answer, told)
}

// callVerb calls the service that answers a verb. If none does, the error says which service is missing.
func callVerb(ctx context.Context, c *Client, name string, request any) (answer []byte, fault *events.Fault, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	answer, fault, err = c.bus.Services().Request(ctx, c.Names().API(name), body)
	return answer, fault, MissingService(c.Names(), name, err)
}

// MissingService adds to the error of a request for a verb which service is missing, as an events.Fault, if none has answered. It returns
// other errors, and nil, unchanged.
func MissingService(n events.Names, name string, err error) error {
	if !errors.Is(err, bus.ErrUnavailable) {
		return err
	}
	service := "scheduler"
	if v, ok := verb.Find(name); ok && v.On != "" {
		service = v.On
	}
	return fmt.Errorf("%w: %w", err, &events.Fault{
		Code: events.CodeUnavailable, Message: "no " + service + " answers on " + n.API(name), Hint: "start one: jobgraph up, or the " + service + " service",
	})
}
