package llm

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// chunkScanner parses the usual form of a stream's chunk without reflection. Whatever it does not recognise is parsed by
// encoding/json from the beginning.
type chunkScanner struct {
	*plainjson.Scanner
	raw json.RawMessage
}

// scanChunk parses a chunk that contains texts, and no usage, call or error. If it returns false, encoding/json has to parse the
// chunk.
func scanChunk(data []byte) (body chatBody, ok bool) {
	s := chunkScanner{Scanner: plainjson.NewScanner(data)}
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "id":
			return s.word(&body.ID)
		case "model":
			return s.word(&body.Model)
		case "choices":
			return body.Choices == nil && s.choices(&body.Choices)
		case "usage", "error":
			return s.null()
		}
		return s.other(key)
	})
	return body, ok && s.End()
}

func (s *chunkScanner) choices(into *[]chatChoice) bool {
	*into = []chatChoice{} // The list exists, though it may be empty.
	return s.List(func() bool {
		*into = append(*into, chatChoice{})
		choice := &(*into)[len(*into)-1]
		return s.Object(func(key []byte) bool {
			switch string(key) {
			case "index":
				return s.Int(&choice.Index)
			case "delta":
				return choice.Delta == nil && s.delta(choice)
			case "finish_reason":
				var reason word
				said, ok := s.said(&reason)
				if said {
					choice.FinishReason = &reason
				}
				return ok && (said || choice.FinishReason == nil)
			case "message", "error":
				return s.null()
			}
			return s.other(key)
		})
	})
}

func (s *chunkScanner) delta(choice *chatChoice) bool {
	m := &chatMessage{}
	choice.Delta = m
	return s.Object(func(key []byte) bool {
		switch string(key) {
		case "role":
			return s.word(&m.Role)
		case "content":
			var text word
			said, ok := s.said(&text)
			if said {
				m.Content = &content{text: string(text)}
			}
			return ok && (said || m.Content == nil)
		case "reasoning":
			return s.word((*word)(&m.Reasoning))
		case "reasoning_content":
			return s.word((*word)(&m.ReasoningContent))
		case "refusal", "tool_calls", "function_call":
			return s.null()
		}
		return s.other(key)
	})
}

// word parses a text. It rejects repeated keys, which encoding/json handles.
func (s *chunkScanner) word(into *word) bool {
	before := *into
	said, ok := s.said(into)
	return ok && before == "" && (said || *into == "")
}

// said parses a text, or null, which counts as absent.
func (s *chunkScanner) said(into *word) (said, ok bool) {
	if !s.Raw(&s.raw) {
		return false, false
	}
	if string(s.raw) == "null" {
		return false, true
	}
	text, ok := quoted(s.raw)
	*into = word(text)
	return ok, ok
}

func (s *chunkScanner) null() bool { return s.Raw(&s.raw) && string(s.raw) == "null" }

// other skips a field that is not needed. encoding/json ignores the case of keys, so a known key in another case is
// rejected.
func (s *chunkScanner) other(key []byte) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return s.Raw(&s.raw)
}
