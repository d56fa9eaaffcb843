package item

import "strings"

// tags are what models are told to put around a result; they are not for people.
var tags = []string{"<deliverable>", "</deliverable>"}

// Plain removes tags from a text that comes in pieces, and line breaks from its beginning. The zero value is ready; it belongs to one text.
type Plain struct {
	held  string // What may be the beginning of a tag.
	begun bool
}

// Add returns the text for people from the next piece and from what was held back before. If done is true, it holds nothing back.
func (p *Plain) Add(text string, done bool) string {
	text = p.held + text
	p.held = ""
	for _, tag := range tags {
		text = strings.ReplaceAll(text, tag, "")
	}
	if at := strings.LastIndexByte(text, '<'); at >= 0 && !done {
		for _, tag := range tags {
			if strings.HasPrefix(tag, text[at:]) {
				text, p.held = text[:at], text[at:]
				break
			}
		}
	}
	if !p.begun {
		text = strings.TrimLeft(text, "\n")
	}
	p.begun = p.begun || text != ""
	return text
}
