package intake

import (
	"context"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// kept has the time zones of the session "desk" and the user "ann".
type kept struct{ session, user string }

func (k kept) SessionZone(_ context.Context, session string) (string, error) {
	if session != "desk" {
		return "", nil
	}
	return k.session, nil
}

func (k kept) UserZone(_ context.Context, user string) (string, error) {
	if user != "ann" {
		return "", nil
	}
	return k.user, nil
}

// proves V-weakness-9
func TestAScheduleWithoutAZoneTakesThatOfItsRequestSessionUserOrCaller(t *testing.T) {
	const request, session, user, caller = "Asia/Kolkata", "America/New_York", "Europe/Berlin", "Asia/Tokyo"
	daily := events.Schedule{DailyTime: "09:00"}
	for name, test := range map[string]struct {
		when         events.Schedule
		zones        kept
		request      events.Request
		caller, want string
	}{
		"its own":          {events.Schedule{DailyTime: "09:00", Timezone: "Europe/Paris"}, kept{session, user}, events.Request{Timezone: request}, caller, "Europe/Paris"},
		"the request's":    {daily, kept{session, user}, events.Request{Timezone: request, Session: "desk", User: "ann"}, caller, request},
		"the session's":    {daily, kept{session, user}, events.Request{Session: "desk", User: "ann"}, caller, session},
		"the user's":       {daily, kept{"", user}, events.Request{Session: "desk", User: "ann"}, caller, user},
		"of nobody known":  {daily, kept{session, user}, events.Request{Session: "other", User: "bob"}, caller, caller},
		"the caller's":     {daily, kept{}, events.Request{}, caller, caller},
		"a caller's typo":  {daily, kept{}, events.Request{}, "Nowhere/Atall", ""},
		"no zone matters":  {events.Schedule{IntervalMinutes: 5}, kept{session, user}, events.Request{Session: "desk", User: "ann"}, caller, ""},
		"user, no session": {daily, kept{session, user}, events.Request{User: "ann"}, caller, user},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Admitter{Zones: test.zones}
			s := &schedule.Spec{When: test.when, Request: test.request}
			if err := a.Zone(t.Context(), s, test.caller); err != nil || s.When.Timezone != test.want {
				t.Errorf("%q, want %q: %v", s.When.Timezone, test.want, err)
			}
		})
	}
}
