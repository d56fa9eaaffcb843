package bus

import (
	"context"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// SessionKey returns the key of a session in its bucket: the id itself if it is a valid key, else its escaped form.
func SessionKey(session string) string {
	if strings.Contains(session, "~") && events.ValidToken(session) {
		return session // An id that we made, for a SubJob that was handed off.
	}
	return events.EscapeID(session)
}

// SlotKey is the key of a concurrency key's slots in the bucket of sessions. It contains a dot, unlike the key of any
// session.
func SlotKey(key string) string { return "slots." + events.EscapeID(key) }

// SessionRecords returns the records of all sessions. It skips slots and accounts, which share the bucket under keys with
// dots. Errors: those of KV.List.
func (b *Bus) SessionRecords(ctx context.Context) ([]Entry, error) {
	list, err := b.Sessions().List(ctx)
	return slices.DeleteFunc(list, func(e Entry) bool { return strings.Contains(e.Key, ".") }), err
}
