package mistake

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed documents schemas
var files embed.FS

// Document is a text in valid JSON that a model could have written.
type Document struct {
	// Name identifies it, Schema is the name of its JSON Schema, Text the document itself.
	Name, Schema, Text string
}

// Documents returns all documents, sorted by name.
func Documents() ([]Document, error) {
	entries, err := files.ReadDir("documents")
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	var found []Document
	for _, entry := range entries {
		raw, err := files.ReadFile("documents/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read document: %w", err)
		}
		var d Document
		if err := json.Unmarshal(raw, &d); err != nil || !json.Valid([]byte(d.Text)) {
			return nil, fmt.Errorf("document %s is no JSON: %w", entry.Name(), err)
		}
		found = append(found, d)
	}
	return found, nil
}

// Schema returns the JSON Schema with a name.
func Schema(name string) (json.RawMessage, error) {
	raw, err := files.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return raw, nil
}

// role is the function of a token.
type role byte

const (
	punctuation role = iota
	key
	member  // the value of a member
	element // a value in an array
)

// token is a token of a document, with its place in the structure.
type token struct {
	at, end int
	role    role
	// text is true for strings. mark is the character of punctuation.
	text bool
	mark byte
	// close is the index of the closing bracket that matches an opening one; outer is the bracket around the token.
	close int
	outer byte
	depth int
}

// tokens cuts a valid document into tokens.
func tokens(src string) []token {
	var list []token
	var open []int
	for at := 0; at < len(src); {
		c := src[at]
		if strings.IndexByte(" \n\t\r", c) >= 0 {
			at++
			continue
		}
		t := token{at: at, end: at + 1, mark: c, depth: len(open)}
		if len(open) > 0 {
			t.outer = list[open[len(open)-1]].mark
		}
		after := byte(0)
		if len(list) > 0 {
			after = list[len(list)-1].mark
		}
		switch c {
		case '{', '[':
			t.role = valueRole(after, t.outer)
			open = append(open, len(list))
		case '}', ']':
			list[open[len(open)-1]].close = len(list)
			open = open[:len(open)-1]
		case ',', ':':
		default:
			t.end, t.text, t.mark = tokenEnd(src, at), c == '"', 0
			t.role = valueRole(after, t.outer)
			if t.outer == '{' && after != ':' {
				t.role = key
			}
		}
		list = append(list, t)
		at = t.end
	}
	return list
}

func valueRole(after, outer byte) role {
	switch {
	case after == ':':
		return member
	case outer == '[':
		return element
	}
	return punctuation
}

// tokenEnd returns where a string, a number or a literal ends.
func tokenEnd(src string, at int) int {
	if src[at] != '"' {
		for at < len(src) && strings.IndexByte(" \n\t\r,:{}[]", src[at]) < 0 {
			at++
		}
		return at
	}
	for at++; src[at] != '"'; at++ {
		if src[at] == '\\' {
			at++
		}
	}
	return at + 1
}
