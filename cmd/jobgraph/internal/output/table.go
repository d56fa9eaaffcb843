package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/drawing"
)

// Forms returns the values of -o for lists and single items.
func Forms() []string { return []string{"table", "wide", "json", "jsonl", "yaml", "name"} }

// Known reports whether form is one of Forms; empty means table.
func Known(form string) bool { return form == "" || slices.Contains(Forms(), form) }

// Row is one item of a list: its name, its table cells, and its full value.
type Row struct {
	// Name is printed by "name".
	Name string
	// Cells are the columns; Wide are the additional columns of "wide".
	Cells, Wide []string
	// Value is printed by json, jsonl and yaml.
	Value any
}

// Table is a list with its headings.
type Table struct {
	Head, WideHead []string
	Rows           []Row
	// Width limits the columns of a line of "table" by cutting the last column. 0 means no limit.
	Width int
	// Screen leaves out columns between the first and the last one where cutting the last one is not enough.
	Screen bool
}

// Write writes the list in a form; empty means table.
func (t Table) Write(w io.Writer, form string) error {
	switch form {
	case "", "table":
		return t.columns(w, false)
	case "wide":
		return t.columns(w, true)
	case "name":
		for _, r := range t.Rows {
			if _, err := fmt.Fprintln(w, drawing.OneLine(r.Name)); err != nil {
				return err
			}
		}
		return nil
	case "jsonl":
		for _, r := range t.Rows {
			if err := Line(w, r.Value); err != nil {
				return err
			}
		}
		return nil
	}
	values := make([]any, len(t.Rows))
	for i, r := range t.Rows {
		values[i] = r.Value
	}
	return Value(w, form, values)
}

func (t Table) columns(w io.Writer, wide bool) error {
	if t.Screen && !wide {
		t = t.narrowed()
	}
	line := func(cells, more []string) []string {
		if wide {
			cells = slices.Concat(cells, more)
		}
		for i, c := range cells {
			cells[i] = drawing.OneLine(c)
		}
		return cells
	}
	lines := [][]string{line(slices.Clone(t.Head), t.WideHead)}
	room := t.room()
	for _, r := range t.Rows {
		cells := slices.Clone(r.Cells)
		if last := len(cells) - 1; !wide && last >= 0 && room > 0 {
			cells[last] = drawing.Cut(drawing.OneLine(cells[last]), room)
		}
		lines = append(lines, line(cells, r.Wide))
	}
	_, err := io.WriteString(w, aligned(lines))
	return err
}

// aligned puts the cells of lines below each other, two columns of the terminal apart: some letters are two wide.
func aligned(lines [][]string) string {
	var widths []int
	for _, cells := range lines {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], drawing.Width(c))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-drawing.Width(c)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// leastColumn is the minimum width of the last column.
const leastColumn = 8

// firstColumns is how many columns from the left are shown at every width, in addition to the last one.
const firstColumns = 1

// narrowed returns the table without those columns before the last one that do not fit Width.
func (t Table) narrowed() Table {
	for last := len(t.Head) - 1; t.Width > 0 && last > firstColumns && t.left() < leastColumn; last-- {
		t.Head = slices.Delete(slices.Clone(t.Head), last-1, last)
		rows := slices.Clone(t.Rows)
		for i, r := range rows {
			if len(r.Cells) > last {
				rows[i].Cells = slices.Delete(slices.Clone(r.Cells), last-1, last)
			}
		}
		t.Rows = rows
	}
	return t
}

// room returns the maximum width of the last column; 0 for any.
func (t Table) room() int {
	if t.Width == 0 {
		return 0
	}
	return max(t.left(), leastColumn)
}

// left returns what Width leaves for the last column; negative if the others are wider.
func (t Table) left() int {
	used := 0
	for i := range len(t.Head) - 1 {
		widest := drawing.Width(t.Head[i])
		for _, r := range t.Rows {
			if i < len(r.Cells) {
				widest = max(widest, drawing.Width(drawing.OneLine(r.Cells[i])))
			}
		}
		used += widest + 2
	}
	return t.Width - used
}

// Clean makes a text safe for a terminal as drawing.OneLine does, but keeps line breaks.
func Clean(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = drawing.OneLine(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Value writes one value as json, jsonl or yaml.
func Value(w io.Writer, form string, v any) error {
	switch form {
	case "json":
		return encode(w, v, "  ")
	case "jsonl":
		return Line(w, v)
	case "yaml":
		return yamlOf(w, v)
	}
	return fmt.Errorf("unknown form %q: use one of %s", form, strings.Join(Forms(), ", "))
}

// Line writes a value as one line of JSON.
func Line(w io.Writer, v any) error { return encode(w, v, "") }

// encode writes JSON without characters that a terminal acts on, except line breaks.
func encode(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", indent)
	if err := out.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escaped(text.String()))
	return err
}

// escaped replaces, in JSON or YAML, the characters that a terminal would act on by their numbers.
func escaped(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// obeyed reports whether a terminal acts on a character other than by starting a line.
func obeyed(r rune) bool { return r != '\n' && drawing.Obeyed(r) }

// yamlOf converts through JSON, so that names and their order are those of the events.
func yamlOf(w io.Writer, v any) error {
	var text bytes.Buffer
	if err := Line(&text, v); err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &node); err != nil { // JSON is YAML.
		return err
	}
	block(&node)
	text.Reset()
	out := yaml.NewEncoder(&text)
	out.SetIndent(2)
	if err := errors.Join(out.Encode(&node), out.Close()); err != nil {
		return err
	}
	_, err := io.WriteString(w, escaped(text.String()))
	return err
}

// block converts the flow style of JSON to lines and drops unneeded quotes.
func block(n *yaml.Node) {
	n.Style = 0
	if strings.ContainsFunc(n.Value, obeyed) {
		n.Style = yaml.DoubleQuotedStyle // In double quotes a character can be written as a number.
	}
	for _, child := range n.Content {
		block(child)
	}
}
