package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
)

// Forms are the values of -o for lists and single things.
func Forms() []string { return []string{"table", "wide", "json", "jsonl", "yaml", "name"} }

// Known reports whether form is one of Forms; empty means table.
func Known(form string) bool { return form == "" || slices.Contains(Forms(), form) }

// Row is one thing of a list: its name, what a table shows of it, and the whole of it.
type Row struct {
	// Name is what "name" prints.
	Name string
	// Cells are the columns; Wide are those that only "wide" adds.
	Cells, Wide []string
	// Value is what json, jsonl and yaml print.
	Value any
}

// Table is a list with its headings.
type Table struct {
	Head, WideHead []string
	Rows           []Row
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
			if _, err := fmt.Fprintln(w, r.Name); err != nil {
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
	tabs := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(cells, more []string) {
		if wide {
			cells = slices.Concat(cells, more)
		}
		for i, c := range cells {
			cells[i] = oneLine(c)
		}
		_, _ = io.WriteString(tabs, strings.Join(cells, "\t")+"\n") // Flush reports.
	}
	line(slices.Clone(t.Head), t.WideHead)
	for _, r := range t.Rows {
		line(slices.Clone(r.Cells), r.Wide)
	}
	return tabs.Flush()
}

// oneLine makes a text safe for a cell: no line breaks, tabs or control characters of a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// Clean makes a text safe for a terminal, but keeps its line breaks.
func Clean(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Value writes one value as json, jsonl or yaml.
func Value(w io.Writer, form string, v any) error {
	switch form {
	case "json":
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(v)
	case "jsonl":
		return Line(w, v)
	case "yaml":
		return yamlOf(w, v)
	}
	return fmt.Errorf("unknown form %q: use one of %s", form, strings.Join(Forms(), ", "))
}

// Line writes a value as one line of JSON.
func Line(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// yamlOf goes by way of JSON, so that the names are those of the events and their order is kept.
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
	out := yaml.NewEncoder(w)
	out.SetIndent(2)
	if err := out.Encode(&node); err != nil {
		return err
	}
	return out.Close()
}

// block turns the flow style of JSON into lines, and drops quotes that are not needed.
func block(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		block(child)
	}
}
