package api

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// users answers the verbs about the settings of users.
type users struct{ view *API }

// verbs are the verbs about users.
func (u users) verbs() map[string]func(context.Context, []byte) (any, error) {
	return map[string]func(context.Context, []byte) (any, error){"users.get": u.get, "users.set": u.set}
}

func (u users) get(ctx context.Context, body []byte) (any, error) {
	var q verb.UserSettings
	if err := decode(body, &q); err != nil {
		return nil, err
	}
	if q.User == "" {
		return nil, &events.Fault{Code: events.CodeMissing, Field: "user", Message: "no user is named", Hint: `send {"user":"…"}`}
	}
	return u.view.Sessions.GetUser(ctx, q.User)
}

func (u users) set(ctx context.Context, body []byte) (any, error) {
	var q verb.UserSettings
	if err := decode(body, &q); err != nil {
		return nil, err
	}
	return u.view.Sessions.SetUser(ctx, q.User, func(s *verb.UserRecord) {
		if q.Timezone != nil {
			s.Timezone = *q.Timezone
		}
	})
}
