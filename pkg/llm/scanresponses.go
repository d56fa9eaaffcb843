package llm

import (
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// scanResponses parses the usual event of a stream of the Responses API, a piece of text, without reflection. If it returns false,
// encoding/json has to parse the event.
func scanResponses(data []byte) (event responsesEvent, ok bool) {
	s := chunkScanner{Scanner: plainjson.NewScanner(data)}
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "type":
			return s.word((*word)(&event.Type))
		case "delta":
			return s.word((*word)(&event.Delta))
		case "response", "item", "code", "message", "error":
			return false
		}
		return s.other(key)
	})
	return event, ok && s.End()
}
