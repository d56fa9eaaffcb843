package client

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/verb"
)

// User holds the settings of a person for whom jobs run.
type User = verb.UserRecord

// User returns the settings of a user; those of an unknown one are empty. Errors: those of the bus.
func (s Sessions) User(ctx context.Context, user string) (*User, error) {
	settings := &User{}
	return settings, askWhole(ctx, s.client, "users.get", map[string]string{"user": user}, settings)
}

// SetTimezone sets the time zone for sessions of a user that name none; "" removes it. Errors: events.Faults for an unknown time
// zone, and those of the bus.
func (s Sessions) SetTimezone(ctx context.Context, user, zone string) (*User, error) {
	settings := &User{}
	return settings, askWhole(ctx, s.client, "users.set", map[string]string{"user": user, "timezone": zone}, settings)
}
