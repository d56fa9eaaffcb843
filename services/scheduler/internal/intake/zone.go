package intake

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Zones knows the time zones of sessions and users; "" for one without.
type Zones interface {
	// SessionZone returns the time zone that applies in a session.
	SessionZone(ctx context.Context, session string) (string, error)
	// UserZone returns the time zone of a user.
	UserZone(ctx context.Context, user string) (string, error)
}

// checkZone returns a fault for a request whose time zone does not exist.
func checkZone(r *events.Request) events.Faults {
	if f := moment.CheckZone("timezone", r.Timezone, time.LoadLocation); f != nil {
		return events.Faults{*f}
	}
	return nil
}

// zone chooses the time zone of a job: that of its request or session, else the user's, else the caller's, which is left
// out if it does not exist.
func (a *Admitter) zone(ctx context.Context, known, user, caller string) (string, error) {
	if known == "" && user != "" && a.Zones != nil {
		var err error
		if known, err = a.Zones.UserZone(ctx, user); err != nil {
			return "", err
		}
	}
	if known == "" && moment.CheckZone("", caller, time.LoadLocation) == nil {
		known = caller
	}
	return known, nil
}

// Zone sets the time zone of a schedule that has none, if one matters: that of its request, session or user, else the caller's.
func (a *Admitter) Zone(ctx context.Context, s *schedule.Spec, caller string) error {
	r := &s.Request
	if s.When.Timezone != "" || !moment.Zoned(&s.When) {
		return nil
	}
	known := r.Timezone
	var err error
	if known == "" && r.Session != "" && a.Zones != nil {
		if known, err = a.Zones.SessionZone(ctx, r.Session); err != nil {
			return err
		}
	}
	s.When.Timezone, err = a.zone(ctx, known, r.User, caller)
	return err
}
