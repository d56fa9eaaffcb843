package item

import "github.com/jobgraph/jobgraph/pkg/events"

// Limits of a stored item: MaxText bytes of text, MaxData bytes of data. Longer ones are cut, and Ref refers to the whole if it is
// stored.
const (
	MaxText = 8 << 10
	MaxData = 8 << 10
)

// Entry is an item with its position in a session's conversation: Seq grows within a session, with gaps.
type Entry struct {
	Seq  uint64 `json:"seq"` // Seq is the sequence in the stream of conversations: reading is resumed after it.
	Item        // Item is what was said.
}

// Stream is the name of the stream of conversations.
func Stream(n events.Names) string { return n.Log + "_CONVERSATIONS" }

// Subject is the subject of the conversation with a key; the key is derived from the id of its session. "*" matches all.
func Subject(n events.Names, key string) string { return n.Prefix() + ".conversation." + key }

// Answered is the subject, over core NATS, that announces a queued request which answered a question instead of making a job.
func Answered(n events.Names) string { return n.Prefix() + ".answered" }

// Taken is an announcement on Answered.
type Taken struct {
	Message string `json:"message"` // Message is the id of the request that answered.
	JobID   string `json:"job_id"`  // JobID is the job that asked and now continues.
	Request string `json:"request"` // Request is the request for input that was answered.
}
