package importer

import (
	"fmt"
	"strings"
)

// Verdict is what happened to a key.
type Verdict string

// The possible verdicts.
const (
	Carried Verdict = "carried" // It has the same meaning here.
	Mapped  Verdict = "mapped"  // Something else here does the same, or nearly.
	Left    Verdict = "left"    // There is no equivalent here.
)

// Note says what happened to one key of the source.
type Note struct {
	// File and Line are the position of the key.
	File string `json:"file"`
	Line int    `json:"line"`
	// Key is the path of the key.
	Key string `json:"key"`
	// Verdict says what happened to it.
	Verdict Verdict `json:"verdict"`
	// To is where it went; empty if it was left out.
	To string `json:"to,omitempty"`
	// Why says why it differs, and what to do.
	Why string `json:"why,omitempty"`
}

// node is one value of a source in any format, with its verdict.
type node struct {
	file string
	line int
	path string
	// text is a scalar as written; quoted is true if it is certainly a text.
	text string
	// names and fields are those of a table, in order; items those of a list.
	names  []string
	fields map[string]*node
	items  []*node
	note   *Note
}

func (n *node) table() bool { return n != nil && n.fields != nil }

// get returns a field, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	return n.fields[name]
}

// value returns a scalar, or "".
func (n *node) value() string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.text)
}

// list returns the scalars of a list, or a single scalar.
func (n *node) list() []string {
	if n == nil {
		return nil
	}
	if n.items == nil && n.text != "" {
		return []string{n.value()}
	}
	var texts []string
	for _, item := range n.items {
		if t := item.value(); t != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

// add adds a field to a table.
func (n *node) add(name string, child *node) {
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	if n.fields[name] == nil {
		n.names = append(n.names, name)
	}
	n.fields[name] = child
}

// carried, mapped and left set the verdict of a value and everything in it. They ignore nil.
func (n *node) carried(to string)     { n.judge(Carried, to, "") }
func (n *node) mapped(to, why string) { n.judge(Mapped, to, why) }
func (n *node) left(why string)       { n.judge(Left, "", why) }
func (n *node) secret(to, name string) {
	n.judge(Mapped, to, "a secret is not copied: set the variable "+name)
}

func (n *node) judge(v Verdict, to, why string) {
	if n != nil {
		n.note = &Note{File: n.file, Line: n.line, Key: n.path, Verdict: v, To: to, Why: why}
	}
}

// notes lists the verdicts of a tree, each once, in the order of the source. A value without a verdict has an unknown key
// and was left out.
func (n *node) notes(seen map[*node]bool) (list []Note) {
	if n == nil || seen[n] {
		return nil
	}
	seen[n] = true
	if n.note != nil {
		return []Note{*n.note}
	}
	if len(n.fields) == 0 && len(n.items) == 0 && (n.fields != nil || n.items != nil) {
		return []Note{{File: n.file, Line: n.line, Key: n.path, Verdict: Left, Why: "it is empty"}}
	}
	if n.fields == nil && n.items == nil {
		return []Note{{File: n.file, Line: n.line, Key: n.path, Verdict: Left, Why: "the key is not known to the importer"}}
	}
	for _, name := range n.names {
		list = append(list, n.fields[name].notes(seen)...)
	}
	for _, item := range n.items {
		list = append(list, item.notes(seen)...)
	}
	return list
}

// below returns the path of a field.
func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// at returns the path of an item.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
