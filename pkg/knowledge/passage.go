package knowledge

import (
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Limits of passages, in bytes.
const (
	// MaxPassage is the longest passage; MinPassage is the size from which on a new paragraph begins a new passage.
	MaxPassage = 1600
	MinPassage = 600
	// maxHeading is how much of each heading is kept.
	maxHeading = 120
)

// Passage is a part of a document that can be found and cited.
type Passage struct {
	// Heading are the headings above it, outermost first, joined by " › ".
	Heading string
	// Start and End delimit it in the text of the document, in bytes.
	Start, End int
}

// Passages divides a text at headings (lines that begin with # as in Markdown) and paragraphs. Longer paragraphs are divided at
// lines, sentences or words. Its time is linear in the size of the text. Passages are in order and contain all of the text except
// white space.
func Passages(text string) []Passage {
	d := divider{text: text}
	fence := false
	for start := 0; start < len(text); {
		end := strings.IndexByte(text[start:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += start + 1
		}
		line := strings.TrimSpace(text[start:end])
		switch level := headingLevel(line); {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = !fence
			d.take(start, end)
		case level > 0 && !fence:
			d.cut()
			d.under(level, strings.TrimSpace(strings.Trim(line, "#")))
			d.take(start, end)
		case line == "":
			d.pause()
		default:
			d.take(start, end)
		}
		start = end
	}
	d.cut()
	return d.passages
}

// headingLevel returns the level of a heading; 0 for any other line.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || len(line) == level || line[level] != ' ' {
		return 0
	}
	return level
}

// divider collects lines into passages.
type divider struct {
	text     string
	passages []Passage
	// headings are the headings that the current passage stands under, by level from 1.
	headings [6]string
	// start and end delimit the current passage; if they are equal, there is none.
	start, end int
}

func (d *divider) under(level int, heading string) {
	d.headings[level-1] = clip.Text(heading, maxHeading)
	clear(d.headings[level:])
}

// take adds a line to the current passage. A line that is too long becomes one or more passages.
func (d *divider) take(start, end int) {
	if d.start == d.end {
		d.start = start
	} else if end-d.start > MaxPassage {
		d.cut()
		d.start = start
	}
	d.end = end
	for d.end-d.start > MaxPassage {
		next := d.start + place(d.text[d.start:d.end])
		rest := d.end
		d.end = next
		d.cut()
		d.start, d.end = next, rest
	}
}

// pause ends a paragraph.
func (d *divider) pause() {
	if d.end-d.start >= MinPassage {
		d.cut()
	}
}

// cut ends the current passage.
func (d *divider) cut() {
	raw := d.text[d.start:d.end]
	start := d.start + len(raw) - len(strings.TrimLeft(raw, " \t\r\n"))
	if text := strings.TrimSpace(raw); text != "" {
		d.passages = append(d.passages, Passage{Heading: d.heading(), Start: start, End: start + len(text)})
	}
	d.start, d.end = 0, 0
}

func (d *divider) heading() string {
	var parts []string
	for _, h := range d.headings {
		if h != "" {
			parts = append(parts, h)
		}
	}
	return strings.Join(parts, " › ")
}

// place returns where to divide a text that is longer than a passage: after a sentence, else a word, else a character.
func place(text string) int {
	head := text[:MaxPassage]
	for _, end := range []string{". ", "。", "! ", "? ", "！", "？", "; ", " "} {
		if i := strings.LastIndex(head, end); i >= MinPassage {
			return i + len(end)
		}
	}
	at := MaxPassage
	for at > MaxPassage-utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
