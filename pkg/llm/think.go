package llm

import "strings"

// thinker separates what a model thinks inside <think> from what it says, however the tags are split into pieces. A model that
// begins its answer with a thought may think again later. In any other answer tags are text, since it may be about them.
type thinker struct {
	inside, over bool
	// thought is true after a thought has ended: white space between it and the answer belongs to neither.
	thought bool
	// later is a further thought as far as it has arrived, with its opening tag: without a closing one it is text.
	later strings.Builder
	// last is the last byte of the answer's text: a tag after a quote or a back quote is text.
	last byte
	// closing is the tag that ends the thought.
	closing string
	// held is text that may become a tag.
	held string
}

// thoughts are the tags that models use.
var thoughts = []string{"<think>", "<thinking>"}

// maxHeld limits the text held back at the start, in bytes: more white space than that belongs to the answer.
const maxHeld = 256

// openThinker begins inside a thought, for templates that open it themselves.
func openThinker() thinker { return thinker{inside: true, closing: "</think>"} }

// feed adds a piece and returns the text and the thinking decided so far.
func (t *thinker) feed(piece string) (said, thought string) {
	for {
		switch {
		case t.over && t.thought:
			more, again, rest := t.say(piece)
			said, thought, piece = said+more, thought+again, rest
			if rest == "" {
				return said, thought
			}
		case t.over:
			return said + piece, thought
		case t.inside:
			more, rest, closed := t.think(piece)
			thought += more
			if !closed {
				return said, thought
			}
			piece = rest
		default:
			rest, decided := t.begin(piece)
			if !decided {
				return said, thought
			}
			piece = rest
		}
	}
}

// think continues inside a thought. The end of the piece is held back if it may begin the closing tag.
func (t *thinker) think(piece string) (thought, rest string, closed bool) {
	text := t.held + piece
	t.held = ""
	if before, after, found := strings.Cut(text, t.closing); found {
		t.inside, t.thought = false, true
		return before, after, true
	}
	for n := min(len(t.closing)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, t.closing[:n]) {
			t.held = text[len(text)-n:]
			return text[:len(text)-n], "", false
		}
	}
	return text, "", false
}

// begin looks for an opening tag at the start, after optional white space.
func (t *thinker) begin(piece string) (rest string, decided bool) {
	text := t.held + piece
	t.held = ""
	start := strings.TrimLeft(text, " \t\r\n")
	for _, tag := range thoughts {
		if after, found := strings.CutPrefix(start, tag); found {
			t.inside, t.closing = true, "</"+tag[1:]
			return after, true
		}
		if len(start) < len(tag) && len(text) < maxHeld && strings.HasPrefix(tag, start) {
			t.held = text
			return "", false
		}
	}
	t.over = true
	if t.thought {
		return start, true
	}
	return text, true
}

// say continues the answer of a model that thinks. It returns the text, a further thought that ends in the piece, and what follows
// it.
func (t *thinker) say(piece string) (said, thought, rest string) {
	if t.later.Len() > 0 {
		from := max(0, t.later.Len()-len(t.closing))
		t.later.WriteString(piece)
		block := t.later.String()
		end := strings.Index(block[from:], t.closing)
		if end < 0 {
			return "", "", ""
		}
		t.later.Reset()
		block, rest = block[:from+end], block[from+end+len(t.closing):]
		_, thought, _ = strings.Cut(block, ">")
		return "", thought, rest
	}
	text := t.held + piece
	t.held = ""
	for at := range len(text) {
		if text[at] != '<' || at > 0 && quoting(text[at-1]) || at == 0 && quoting(t.last) {
			continue
		}
		for _, tag := range thoughts {
			switch {
			case strings.HasPrefix(text[at:], tag):
				t.closing = "</" + tag[1:]
				t.later.WriteString(tag)
				return t.spoken(text[:at]), "", text[at+len(tag):]
			case strings.HasPrefix(tag, text[at:]):
				t.held = text[at:]
				return t.spoken(text[:at]), "", ""
			}
		}
	}
	return t.spoken(text), "", ""
}

// spoken records how far the answer has come.
func (t *thinker) spoken(said string) string {
	if said != "" {
		t.last = said[len(said)-1]
	}
	return said
}

// quoting reports whether text after a byte is quoted.
func quoting(c byte) bool { return c == '`' || c == '"' || c == '\'' }

// flush returns what was held back, at the end.
func (t *thinker) flush() (said, thought string) {
	held := t.later.String() + t.held
	t.later.Reset()
	t.held = ""
	switch {
	case t.over:
		return held, ""
	case t.inside:
		return "", held
	case t.thought:
		return strings.TrimLeft(held, " \t\r\n"), ""
	}
	return held, ""
}
