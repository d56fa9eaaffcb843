package host

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"go.yaml.in/yaml/v3"
)

// expand replaces the references in a text and records the secrets among them. It returns false if a reference is faulty,
// with a fault for field; path is where the text is.
func (d *document) expand(node *yaml.Node, field, path string) bool {
	if _, done := d.raw[node]; done {
		return true
	}
	ok := !strings.Contains(node.Value, "${") || d.replace(node, field, path)
	d.secrets.written(path, node.Value)
	return ok
}

func (d *document) replace(node *yaml.Node, field, path string) bool {
	text, ok := node.Value, true
	d.raw[node] = text
	cursor := place{line: node.Line, column: node.Column}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			break
		}
		if strings.HasSuffix(before, "$") { // $${ is a literal ${.
			out.WriteString("{")
			text, cursor = after, d.locate(cursor, "${")
			continue
		}
		reference, rest, closed := strings.Cut(after, "}")
		at := d.locate(cursor, "${"+reference)
		if !closed {
			d.faultAt(at, field, events.CodeMalformed, "${ is not closed", "", "add a }, or write $${ for a literal ${")
			return false
		}
		value, good := d.reference(reference, at, field)
		d.secrets.refer(path, reference, value)
		out.WriteString(value)
		ok = ok && good
		text, cursor = rest, place{line: at.line, column: at.column + 1}
	}
	node.Value = out.String()
	return ok
}

// reference returns the value of ${reference}.
func (d *document) reference(reference string, at place, field string) (string, bool) {
	d.referred = append(d.referred, reference)
	if path, found := strings.CutPrefix(reference, "file:"); found {
		if !filepath.IsAbs(path) {
			path = filepath.Join(d.dir, path)
		}
		text, err := readSmall(path)
		if err != nil {
			d.faultAt(at, field, CodeUnreadable, fmt.Sprintf("the file of ${%s} cannot be read", reference), err.Error(),
				"check the path; it is relative to this file")
			return "", false
		}
		return strings.TrimRight(text, "\r\n"), true
	}
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
		d.faultAt(at, field, events.CodeMalformed, fmt.Sprintf("${%s} is no reference", reference), "",
			"write ${NAME}, ${NAME:-default} or ${file:PATH}, or $${ for a literal ${")
		return "", false
	}
	if value, found := d.env.get(name); found {
		return value, true
	}
	if hasFallback {
		return fallback, true
	}
	d.faultAt(at, field, CodeUnknownVariable, fmt.Sprintf("the variable %s is not set", name), "",
		fmt.Sprintf("set %s, or give a default: ${%s:-default}", name, name))
	return "", false
}

// place is a position in the text; both numbers count from 1, columns in characters.
type place struct{ line, column int }

// locate finds a part of a node in the text, starting at a position: the parser gives no positions inside quoted or folded
// texts. If the part is not found because it is escaped or folded, the result is the start.
func (d *document) locate(from place, piece string) place {
	first, _, _ := strings.Cut(piece, "\n")
	want := []rune(first)
	for line := from.line; line >= 1 && line <= len(d.lines); line++ {
		start := 0
		if line == from.line {
			start = min(max(0, from.column-1), len(d.lines[line-1]))
		}
		text := d.lines[line-1]
		for i := start; i+len(want) <= len(text); i++ {
			if slices.Equal(text[i:i+len(want)], want) {
				return place{line: line, column: i + 1}
			}
		}
	}
	return from
}

func (d *document) faultAt(at place, field string, code events.Code, message, cause, hint string) {
	d.faults = append(d.faults, Fault{
		Code: code, Field: field, Message: message, Cause: cause, Hint: hint, File: d.path, Line: at.line, Column: at.column,
	})
}
