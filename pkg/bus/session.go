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
