package watch

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// The columns of a line: the text has at least minText, the name of the SubJob at most maxName.
const (
	defaultWidth = 80
	minText      = 20
	maxName      = 16
)

// Live writes live items for people, line by line: each line begins with its SubJob and a sign for its type. Text is
// written as its lines become complete, so that several SubJobs can write at once. The output contains neither colours nor
// control characters.
type Live struct {
	// Out gets whole lines, each in one call.
	Out io.Writer
	// Width is how many columns a line may have; 80 if 0.
	Width int

	open  map[string]*said // The items whose last line is not complete.
	order []string         // The keys of these items, the oldest first.
}

// said is an item whose last line is not complete.
type said struct {
	item item.Item
	rest string
}

// signs stand between the SubJob and the text.
var signs = map[item.Type]string{
	item.Thinking: "~", item.Text: "|", item.Tool: ">", item.Log: "!", item.Progress: "*", item.Plan: "|", item.Component: "#",
	item.Seam: "=", item.Gap: "?", item.Prompt: "<", item.Raw: "|", item.Warning: "!", item.Guidance: "|", item.Question: "?", item.Answer: "|", item.Result: "|",
}

// Item writes what an item adds.
func (l *Live) Item(i *item.Item) error {
	key := fmt.Sprintf("%s/%d/%s", i.SubJob, i.Run, i.ID)
	switch i.Type {
	case item.Tool:
		return l.tool(i)
	case item.Component:
		return l.lines(i, component(i))
	}
	s := l.open[key]
	if s == nil {
		if i.Text == "" {
			return nil
		}
		s = &said{}
	}
	if i.Offset == 0 && i.Text != "" {
		s.rest = ""
	}
	text := i.Text
	if s.item = *i; s.rest != "" {
		text, s.rest = s.rest+text, ""
	}
	whole, rest := l.split(i, text, i.Done)
	s.rest = rest
	l.keep(key, s)
	return l.lines(i, whole)
}

func (l *Live) keep(key string, s *said) {
	if s.rest == "" {
		delete(l.open, key)
		return
	}
	if l.open == nil {
		l.open = map[string]*said{}
	}
	if l.open[key] == nil {
		l.order = append(l.order, key)
	}
	l.open[key] = s
}

// split returns the part of a text that can be written: whole lines, and what fills a line.
func (l *Live) split(i *item.Item, text string, done bool) (whole, rest string) {
	if done {
		return text, ""
	}
	end := strings.LastIndexByte(text, '\n') + 1
	columns := l.columns(i)
	for n := fit(text[end:], columns); n < len(text)-end; n = fit(text[end:], columns) {
		end += n
	}
	return text[:end], text[end:]
}

// fit returns how many bytes of a text without line breaks fit into a line, up to a space if there is one; all if the text
// fits.
func fit(text string, columns int) int {
	start := text[:min(len(text), 16*columns)] // No need to look at all of a long text for each of its lines.
	if drawing.Width(start) <= columns {
		return len(text)
	}
	start = strings.TrimSuffix(drawing.Cut(start, columns), "…")
	if at := strings.LastIndexByte(start, ' '); at > 0 {
		return at + 1
	}
	return max(len(start), 1)
}

// Flush writes lines that are not complete.
func (l *Live) Flush() error {
	order := l.order
	l.order = nil
	for _, key := range order {
		s := l.open[key]
		if s == nil {
			continue
		}
		delete(l.open, key)
		if err := l.lines(&s.item, s.rest); err != nil {
			return err
		}
	}
	return nil
}

func (l *Live) name(i *item.Item) string {
	return drawing.Cut(output.Clean(cmp.Or(i.SubJob, "-")), maxName) + " " + cmp.Or(signs[i.Type], "|") + " "
}

func (l *Live) columns(i *item.Item) int {
	return max(cmp.Or(l.Width, defaultWidth)-drawing.Width(l.name(i)), minText)
}

// lines writes a text, each line with its SubJob, wrapped to the width.
func (l *Live) lines(i *item.Item, text string) error {
	if text == "" {
		return nil
	}
	name, columns := l.name(i), l.columns(i)
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = output.Clean(line)
		for n := fit(line, columns); n < len(line); n = fit(line, columns) {
			b.WriteString(name + strings.TrimRight(line[:n], " ") + "\n")
			line = line[n:]
		}
		b.WriteString(strings.TrimRight(name+line, " ") + "\n")
	}
	if i.Truncated > 0 && i.Type != item.Gap {
		fmt.Fprintf(&b, "%s(%d more bytes are left out)\n", name, i.Truncated)
	}
	_, err := io.WriteString(l.Out, b.String())
	return err
}

// tool writes one line for a call, when it is made.
func (l *Live) tool(i *item.Item) error {
	if i.Tool == "" || i.Done {
		return nil
	}
	return l.oneLine(i, i.Tool+" "+i.Args)
}

func (l *Live) oneLine(i *item.Item, text string) error {
	return l.lines(&item.Item{Type: i.Type, SubJob: i.SubJob}, drawing.Cut(drawing.OneLine(text), l.columns(i)))
}

// component returns the text for data that only a graphical display can show.
func component(i *item.Item) string {
	text := i.Text
	if text == "" {
		text = string(i.Data)
	}
	return cmp.Or(i.Component, "component") + ": " + text
}
