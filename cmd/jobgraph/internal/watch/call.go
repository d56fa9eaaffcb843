package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// call notes the beginning of a call of a tool, and returns its row at the end.
func (t *Talk) call(i *item.Item, width int) []string {
	at := slices.IndexFunc(t.calls, func(c item.Item) bool { return keyOf(&c) == keyOf(i) })
	if at < 0 {
		if i.Tool == "" {
			return nil // Its beginning was lost.
		}
		t.calls = append(t.calls, *i)
		at = len(t.calls) - 1
	}
	if !i.Done {
		return nil
	}
	c := t.calls[at]
	t.calls = slices.Delete(t.calls, at, at+1)
	var rows []string
	if v := t.voices[t.writes]; v != nil && v.item.SubJob == i.SubJob {
		rows = t.fill(v, width, true)
		t.end(t.writes)
	}
	rows = append(rows, t.heading(i)...)
	if more := t.printed[keyOf(i)] - mostLines; more > 0 {
		rows = append(rows, t.Paint.Dim(fmt.Sprintf("! … %d more lines", more)))
	}
	t.last = ""
	return append(rows, t.ended(&c, i, width))
}

// ended returns the row of a finished call.
func (t *Talk) ended(c, i *item.Item, width int) string {
	outcome := i.Outcome
	if outcome == "" {
		outcome = "done"
	}
	took := ""
	if i.TookMS > 0 || i.Outcome == "ok" {
		took = " " + output.Span(time.Duration(i.TookMS)*time.Millisecond)
	}
	end := "  " + outcome + took
	row := drawing.Cut(called(c), max(width-drawing.Width(end), minText))
	if i.Outcome != "ok" && i.Outcome != "" {
		return row + t.Paint.Removed(end)
	}
	return row + t.Paint.Added(end)
}

// called formats a call for people, in one line.
func called(i *item.Item) string {
	return drawing.OneLine("> " + i.Tool + " " + arguments(i.Args))
}

// mostArgument is how many columns of one argument are shown.
const mostArgument = 40

// arguments formats the fields of a JSON object in their order, a path first. Text that is not an object, or was cut, stays as it
// is.
func arguments(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return text
	}
	var parts []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			if len(parts) == 0 {
				return text
			}
			return strings.Join(append(parts, "…"), " ")
		}
		shown := string(value)
		var plain string
		if json.Unmarshal(value, &plain) == nil && plain != "" && !strings.ContainsAny(plain, " \n\t\"=") {
			shown = plain
		}
		part := fmt.Sprintf("%s=%s", name, drawing.Cut(shown, mostArgument))
		if name == "path" { // The rest may be cut off.
			parts = slices.Insert(parts, 0, part)
			continue
		}
		parts = append(parts, part)
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		parts = append(parts, "…")
	}
	return strings.Join(parts, " ")
}

// print returns the rows for what a call prints while it runs: only its first lines.
func (t *Talk) print(i *item.Item, call string, width int) (rows []string) {
	of := *i
	of.ID = call
	key := keyOf(&of)
	if t.printed == nil {
		t.printed = map[string]int{}
	}
	for line := range strings.Lines(i.Text) {
		if t.printed[key]++; t.printed[key] <= mostLines {
			rows = append(rows, t.Paint.Dim(drawing.Cut("! "+drawing.OneLine(strings.TrimRight(line, "\r\n")), width)))
		}
	}
	if len(rows) > 0 {
		rows = append(t.heading(i), rows...)
	}
	return rows
}
