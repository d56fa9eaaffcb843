package llm

import (
	"bytes"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// scanGemini parses a chunk that contains texts, thoughts and numbers of tokens, without reflection. If it returns false,
// encoding/json has to parse the chunk.
func scanGemini(data []byte) (body geminiBody, ok bool) {
	s := chunkScanner{Scanner: plainjson.NewScanner(data)}
	ok = s.Object(func(key []byte) bool {
		switch string(key) {
		case "candidates":
			return body.Candidates == nil && s.candidates(&body.Candidates)
		case "usageMetadata":
			if body.Usage != nil {
				return false
			}
			body.Usage = &geminiUsage{}
			return s.geminiUsage(body.Usage)
		case "modelVersion":
			return s.Text((*string)(&body.Model))
		case "responseId":
			return s.Text((*string)(&body.ID))
		}
		return s.unlike(key, "candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId", "error")
	})
	return body, ok && s.End()
}

func (s *chunkScanner) candidates(into *[]geminiCandidate) bool {
	*into = []geminiCandidate{} // The list exists, though it may be empty.
	return s.List(func() bool {
		*into = append(*into, geminiCandidate{})
		c := &(*into)[len(*into)-1]
		return s.Object(func(key []byte) bool {
			switch string(key) {
			case "index":
				return s.Int(&c.Index)
			case "content":
				if c.Content != nil {
					return false
				}
				c.Content = &geminiContent{}
				return s.Object(func(key []byte) bool {
					if string(key) == "parts" {
						return c.Content.Parts == nil && s.parts(&c.Content.Parts)
					}
					return s.unlike(key, "parts")
				})
			case "finishReason":
				return s.Text((*string)(&c.Reason))
			}
			return s.unlike(key, "index", "content", "finishReason", "finishMessage")
		})
	})
}

func (s *chunkScanner) parts(into *[]geminiPart) bool {
	*into = []geminiPart{}
	return s.List(func() bool {
		*into = append(*into, geminiPart{})
		p := &(*into)[len(*into)-1]
		return s.Object(func(key []byte) bool {
			switch string(key) {
			case "text":
				p.Text = new(string)
				return s.Text(p.Text)
			case "thought":
				return s.Bool(&p.Thought)
			case "thoughtSignature":
				return s.Text(&p.Signature)
			}
			return s.unlike(key, "text", "thought", "thoughtSignature", "functionCall")
		})
	})
}

func (s *chunkScanner) geminiUsage(u *geminiUsage) bool {
	return s.Object(func(key []byte) bool {
		switch string(key) {
		case "promptTokenCount":
			return s.tokens(&u.Prompt)
		case "cachedContentTokenCount":
			return s.tokens(&u.Cached)
		case "toolUsePromptTokenCount":
			return s.tokens(&u.Tools)
		case "candidatesTokenCount":
			return s.tokens(&u.Answer)
		case "thoughtsTokenCount":
			return s.tokens(&u.Thoughts)
		}
		return s.unlike(key, "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
	})
}

// tokens parses a number of tokens in its usual form.
func (s *chunkScanner) tokens(into *count) bool {
	return s.Int((*int)(into)) && *into >= 0 && *into <= 1e9
}

// unlike skips a field that is not needed. encoding/json ignores the case of keys, so a known key in another case is rejected.
func (s *chunkScanner) unlike(key []byte, known ...string) bool {
	for _, name := range known {
		if bytes.EqualFold(key, []byte(name)) {
			return false
		}
	}
	return s.Raw(&s.raw)
}
