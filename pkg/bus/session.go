package bus

import (
	"context"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// SessionKey is the key of a session in its bucket: the id itself, when it can be one, else its escaped form.
func SessionKey(session string) string {
	if strings.Contains(session, "~") && events.ValidToken(session) {
		return session // One of ours, for a SubJob that was handed off.
	}
	return events.EscapeID(session)
}

// SlotKey is where the slots of a key that jobs share are kept, in the bucket of sessions: no session's key has a dot.
func SlotKey(key string) string { return "slots." + events.EscapeID(key) }

// SessionRecords gives the record of every session. Their bucket also holds slots and accounts, under keys with
// dots. Errors: those of KV.List.
func (b *Bus) SessionRecords(ctx context.Context) ([]Entry, error) {
	list, err := b.Sessions().List(ctx)
	return slices.DeleteFunc(list, func(e Entry) bool { return strings.Contains(e.Key, ".") }), err
}
