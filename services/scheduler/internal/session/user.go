package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// GetUser returns the settings of a user; those of an unknown one are empty.
func (b *Store) GetUser(ctx context.Context, id string) (*verb.UserRecord, error) {
	u, _, err := b.loadUser(ctx, id)
	return u, err
}

// UserZone returns the time zone of a user, or "".
func (b *Store) UserZone(ctx context.Context, id string) (string, error) {
	u, _, err := b.loadUser(ctx, id)
	return u.Timezone, err
}

// SetUser changes the settings of a user. Errors: events.Faults for bad values, and the bus's.
func (b *Store) SetUser(ctx context.Context, id string, change func(*verb.UserRecord)) (*verb.UserRecord, error) {
	if id == "" || len(id) > events.MaxName {
		return nil, events.Faults{{
			Code: events.CodeInvalid, Field: "user", Message: fmt.Sprintf("the id of a user has 1 to %d bytes", events.MaxName), Hint: `send {"user":"…","timezone":"…"}`,
		}}
	}
	for {
		u, revision, err := b.loadUser(ctx, id)
		if err != nil {
			return nil, err
		}
		change(u)
		if f := moment.CheckZone("timezone", u.Timezone, time.LoadLocation); f != nil {
			return nil, events.Faults{*f}
		}
		u.Updated = time.Now().UTC()
		value, err := json.Marshal(u)
		if err != nil {
			return nil, fmt.Errorf("write user: %w", err)
		}
		_, err = b.keys.Update(ctx, bus.UserKey(id), value, revision)
		if err == nil {
			return u, nil
		}
		if !errors.Is(err, bus.ErrConflict) || ctx.Err() != nil {
			return nil, fmt.Errorf("write user: %w", err)
		}
	}
}

func (b *Store) loadUser(ctx context.Context, id string) (*verb.UserRecord, uint64, error) {
	u := &verb.UserRecord{ID: id}
	value, revision, err := b.keys.GetLeader(ctx, bus.UserKey(id))
	if errors.Is(err, bus.ErrNotFound) {
		return u, revision, nil
	}
	if err != nil {
		return u, 0, fmt.Errorf("load user: %w", err)
	}
	if json.Unmarshal(value, u) != nil {
		u = &verb.UserRecord{}
	}
	u.ID = id
	return u, revision, nil
}
