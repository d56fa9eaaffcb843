package lenient

import (
	"slices"
	"strings"
)

// fences reads a fence of three or more marks. One with a name opens a block; one without opens or closes it.
func (s *scanner) fences() {
	c := s.src[s.pos]
	end := s.pos
	for end < len(s.src) && s.src[end] == c {
		end++
	}
	s.p.ahead.steps += end - s.pos
	if end-s.pos < 3 {
		s.pos = end
		return
	}
	for end < len(s.src) && s.src[end] == ' ' {
		end++
	}
	start := end
	for end < len(s.src) && (isLetter(s.src[end]) || isDigit(s.src[end]) || strings.IndexByte("+-_.", s.src[end]) >= 0) {
		end++
	}
	s.p.ahead.steps += end - start
	name := strings.ToLower(s.src[start:min(end, start+16)])
	s.fence = name != "" || !s.fence
	s.named = name == "" || strings.HasPrefix(name, "json") || name == "jsonl" || name == "ndjson"
	s.pos = end
	if s.fence && s.named {
		if name != "" {
			s.framed = end
		}
		s.headless()
	}
}

// thoughts are the names of tags around a model's thinking.
var thoughts = []string{"think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis"}

// tags reads a tag: thinking is skipped, the caller's tags are recorded, others are text.
func (s *scanner) tags() {
	name, closing, end := s.tagAt(s.pos)
	s.pos = end
	switch {
	case name == "":
	case slices.ContainsFunc(s.opts.Tags, func(tag string) bool { return strings.EqualFold(tag, name) }):
		if closing {
			s.tag = max(0, s.tag-1)
			return
		}
		s.tag++
		s.framed = end
		s.headless()
	case !slices.Contains(thoughts, name):
	case closing:
		s.unthink(end)
	case !s.thinking:
		s.think(name, end)
	}
}

// maxTag bounds the length of a tag's name.
const maxTag = 64

// tagAt reads the tag at an offset: its name in lower case, whether it closes, and where it ends. Text that is not a tag
// has no name and ends after its first character.
func (s *scanner) tagAt(at int) (name string, closing bool, end int) {
	start := at + 1
	if closing = strings.HasPrefix(s.src[start:], "/"); closing {
		start++
	}
	stop := start
	for stop < len(s.src) && stop < start+maxTag {
		r, size := runeAt(s.src, stop)
		if !isWord(r) {
			break
		}
		stop += size
	}
	s.p.ahead.steps += stop - start
	if stop == start || stop >= len(s.src) {
		return "", false, at + 1
	}
	end = stop
	for end < len(s.src) && end < stop+maxTag && s.src[end] != '>' && s.src[end] != '<' && s.src[end] != '{' && s.src[end] != '[' {
		end++
	}
	s.p.ahead.steps += end - stop
	if end >= len(s.src) || s.src[end] != '>' {
		return "", false, at + 1
	}
	return strings.ToLower(s.src[start:stop]), closing, end + 1
}

// think skips thinking. If it is never closed, the values in it are used if there are no others.
func (s *scanner) think(name string, end int) {
	s.thoughts = true
	size := closingTag(s.src[end:], name)
	if size < 0 {
		s.p.ahead.steps += len(s.src) - end
		s.thinking = true
		return
	}
	s.p.ahead.steps += size
	s.pos = end + size
	s.tail = s.pos
}

// unthink handles the end of thinking without an opening tag: everything before it was thinking.
func (s *scanner) unthink(end int) {
	s.tail = end
	if s.thinking || !s.thoughts {
		for i := range s.found {
			if value := &s.found[i]; !value.thought {
				value.thought = true
				value.Notes = append(Notes{{Kind: Thought, At: value.Start, Count: 1}}, value.Notes...)
			}
		}
		s.reserve, s.found = append(s.reserve, s.found...), nil
	}
	s.thinking, s.thoughts = false, true
	s.fence, s.tag, s.framed = false, 0, 0
}

// rethink looks for an end of thinking inside a value that is not plain JSON. If there is one, the value was unfinished
// thinking, and reading continues after it. This happens at most once.
func (s *scanner) rethink(value Value) bool {
	if s.thoughts {
		return false
	}
	s.p.ahead.steps += value.End - value.Start
	span := s.src[value.Start:value.End]
	if !strings.Contains(span, "</") {
		return false
	}
	for _, name := range thoughts {
		if size := closingTag(span, name); size >= 0 {
			s.keep(value)
			s.unthink(value.Start + size)
			s.pos = value.Start + size
			return true
		}
	}
	return false
}

// reframe goes back, at most once, to where the frame of a cut value seems to end: an unclosed string in it may have
// swallowed better values.
func (s *scanner) reframe(value *Value) {
	if s.reframed {
		return
	}
	span := s.src[value.Start:value.End]
	s.p.ahead.steps += len(span)
	at := strings.Index(span, "\n```")
	for _, tag := range s.opts.Tags {
		s.p.ahead.steps += len(span)
		if size := closingTag(span, strings.ToLower(tag)); size >= 0 && (at < 0 || size < at) {
			at = size - len(tag) - len("</>") - 1
		}
	}
	if at < 0 {
		return
	}
	s.reframed = true
	s.inner = !s.inFrame()
	s.pos = value.Start + at + 1
}

// closingTag returns the length of the text up to and including a closing tag, ignoring case, or -1.
func closingTag(text, name string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], "</")
		if i < 0 {
			return -1
		}
		from += i + len("</")
		end := from + len(name)
		if end < len(text) && text[end] == '>' && strings.EqualFold(text[from:end], name) {
			return end + 1
		}
	}
}
