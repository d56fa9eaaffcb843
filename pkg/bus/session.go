package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// SessionKey returns the key of a session in its bucket: the id itself if it is a valid key, else its escaped form.
func SessionKey(session string) string {
	if strings.Contains(session, "~") && events.ValidToken(session) {
		return session // Jobgraph made this id, for a SubJob that was handed off.
	}
	return events.EscapeID(session)
}

// sessionOwner returns the user to whom a session belongs; "" for one without an owner, and for one that does not exist. Errors:
// ErrUnavailable.
func (b *Bus) sessionOwner(ctx context.Context, session string) (string, error) {
	value, _, err := b.Sessions().GetLeader(ctx, SessionKey(session))
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	var record struct {
		User string `json:"user"`
	}
	if err == nil {
		err = json.Unmarshal(value, &record)
	}
	if err != nil {
		return "", fmt.Errorf("read the owner of session %s: %w", session, err)
	}
	return record.User, nil
}

// ContextKey returns the key, in the bucket of sessions, of the ids by which remote agents know a session. It contains a dot,
// unlike the key of any session.
func ContextKey(session string) string { return "contexts." + SessionKey(session) }

// RemoteContext returns the id by which a remote agent knows a session, or "". Errors: ErrUnavailable.
func (b *Bus) RemoteContext(ctx context.Context, session, expert string) (string, error) {
	known, _, err := b.remoteContexts(ctx, session)
	return known[expert], err
}

func (b *Bus) remoteContexts(ctx context.Context, session string) (map[string]string, uint64, error) {
	known := map[string]string{}
	value, revision, err := b.Sessions().GetLeader(ctx, ContextKey(session))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, 0, fmt.Errorf("read contexts of session %s: %w", session, err)
	}
	if len(value) > 0 && json.Unmarshal(value, &known) != nil {
		known = map[string]string{}
	}
	return known, revision, nil
}

// SetRemoteContext stores the id by which a remote agent knows a session; an empty id removes it. Errors: ErrUnavailable.
func (b *Bus) SetRemoteContext(ctx context.Context, session, expert, id string) error {
	for {
		known, revision, err := b.remoteContexts(ctx, session)
		if err != nil || known[expert] == id {
			return err
		}
		if known[expert] = id; id == "" {
			delete(known, expert)
		}
		value, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("write contexts of session %s: %w", session, err)
		}
		_, err = b.Sessions().Update(ctx, ContextKey(session), value, revision)
		if !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// SlotKey returns the key of a concurrency key's slots in the bucket of sessions. It contains a dot, unlike the key of
// any session.
func SlotKey(key string) string { return "slots." + events.EscapeID(key) }

// ChatKey is the key, in the bucket of sessions, of the session of a conversation that its client sends completely with each request.
// digest identifies what was said in it.
func ChatKey(digest string) string { return "chats." + digest }

// UserKey returns the key of a user's settings in the bucket of sessions.
func UserKey(user string) string { return "users." + events.EscapeID(user) }

// SessionRecords returns the records of all sessions. It skips slots, accounts and chats, which share the bucket under keys with
// dots. Errors: those of KV.List.
func (b *Bus) SessionRecords(ctx context.Context) ([]Entry, error) {
	list, err := b.Sessions().List(ctx)
	return slices.DeleteFunc(list, func(e Entry) bool { return strings.Contains(e.Key, ".") }), err
}
