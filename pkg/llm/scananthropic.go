package llm

import (
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// scanDelta parses the usual event of a stream, a piece of text or of arguments, without reflection. If it returns false,
// encoding/json has to parse the event from the beginning.
func scanDelta(data []byte, e *anthropicEvent) bool {
	s := chunkScanner{Scanner: plainjson.NewScanner(data)}
	deltas := 0
	ok := s.Object(func(key []byte) bool {
		switch string(key) {
		case "type":
			return s.word(&e.Type)
		case "index":
			return s.Int(&e.Index)
		case "delta":
			deltas++
			return deltas == 1 && s.Object(func(key []byte) bool {
				switch string(key) {
				case "type":
					return s.word((*word)(&e.Delta.Type))
				case "text":
					return s.word((*word)(&e.Delta.Text))
				case "thinking":
					return s.word((*word)(&e.Delta.Thinking))
				case "partial_json":
					return s.word((*word)(&e.Delta.Input))
				}
				return false
			})
		}
		return false
	})
	return ok && s.End() && e.Type == "content_block_delta"
}
