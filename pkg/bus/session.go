package bus

import (
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
