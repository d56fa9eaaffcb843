package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// User holds the settings of a person for whom jobs run.
type User struct {
	// ID is the user as named in requests.
	ID string `json:"id"`
	// Timezone is the time zone of requests and sessions that name none, an IANA name; empty for none.
	Timezone string `json:"timezone,omitempty"`
	// Updated is when the settings were changed last; zero if they never were.
	Updated time.Time `json:"updated,omitzero"`
}

// User returns the settings of a user; those of an unknown one are empty. Errors: those of the bus.
func (s Sessions) User(ctx context.Context, user string) (*User, error) {
	return s.askUser(ctx, "users.get", map[string]string{"user": user})
}

// SetTimezone sets the time zone for sessions of a user that name none; "" removes it. Errors: events.Faults for an unknown time
// zone, and those of the bus.
func (s Sessions) SetTimezone(ctx context.Context, user, zone string) (*User, error) {
	return s.askUser(ctx, "users.set", map[string]string{"user": user, "timezone": zone})
}

func (s Sessions) askUser(ctx context.Context, verb string, question any) (*User, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	subject := s.client.Names().API(verb)
	answer, fault, err := s.client.bus.Services().Request(ctx, subject, body)
	switch {
	case errors.Is(err, bus.ErrUnavailable):
		return nil, noScheduler(subject, err)
	case err != nil:
		return nil, err
	case fault != nil:
		return nil, refusal(answer, fault)
	}
	settings := &User{}
	return settings, json.Unmarshal(answer, settings)
}
