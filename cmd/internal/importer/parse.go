package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// maxNodes limits a source, since aliases can make a small file very large.
const maxNodes = 100_000

// parseYAML parses YAML, replacing aliases by their values.
func parseYAML(file string, text []byte) (*node, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(file, 0, "this is not YAML", err)
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, unreadable(file, max(1, more.Line), "a second document begins", err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, unreadable(file, 1, "there are no keys", errors.New("a file of keys and values is needed"))
	}
	r := yamlReader{file: file, made: map[*yaml.Node]*node{}}
	root := r.read(doc.Content[0], "")
	if r.full {
		return nil, unreadable(file, 0, fmt.Sprintf("the file means more than %d values", maxNodes), nil)
	}
	return root, nil
}

// parseJSON parses JSON with the YAML parser, which gives line numbers.
func parseJSON(file string, text []byte) (*node, error) {
	var valid json.RawMessage
	if err := json.Unmarshal(text, &valid); err != nil {
		return nil, unreadable(file, 0, "this is not JSON", err)
	}
	text = escape.ReplaceAllFunc(text, character)
	return parseYAML(file, []byte(strings.ReplaceAll(string(text), "\t", " "))) // JSON has tabs only between values.
}

// escape matches each JSON escape as a whole, so that an escaped backslash begins none; a pair of surrogates is one.
var escape = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// character replaces escapes that the YAML parser does not know by their characters: slashes and surrogates; a lone
// surrogate has no meaning.
func character(text []byte) []byte {
	if string(text) == `\/` {
		return text[1:]
	}
	if len(text) < len(`\ud83d`) || text[2]|0x20 != 'd' || text[3] < '8' {
		return text
	}
	var c string
	if json.Unmarshal(fmt.Appendf(nil, `"%s"`, text), &c) != nil {
		return text
	}
	return []byte(c)
}

// yamlReader builds a tree of nodes.
type yamlReader struct {
	file string
	made map[*yaml.Node]*node
	full bool
}

func (r *yamlReader) read(y *yaml.Node, path string) *node {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if n := r.made[y]; n != nil {
		return n
	}
	n := &node{file: r.file, line: y.Line, path: path, text: y.Value}
	if r.full = r.full || len(r.made) >= maxNodes; r.full {
		return n
	}
	r.made[y] = n
	switch y.Kind {
	case yaml.MappingNode:
		n.fields = map[string]*node{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			name := y.Content[i].Value
			n.add(name, r.read(y.Content[i+1], below(path, name)))
		}
	case yaml.SequenceNode:
		n.items = []*node{}
		for i, item := range y.Content {
			n.items = append(n.items, r.read(item, at(path, i)))
		}
	case yaml.ScalarNode:
		if y.ShortTag() == "!!null" {
			n.text = ""
		}
	}
	return n
}

// parseTOML reads TOML.
func parseTOML(file string, text []byte) (*node, error) {
	var valid map[string]any
	if err := toml.Unmarshal(text, &valid); err != nil {
		line := 0
		var where *toml.DecodeError
		if errors.As(err, &where) {
			line, _ = where.Position()
		}
		return nil, unreadable(file, line, "this is not TOML", err)
	}
	root := &node{file: file, line: 1, fields: map[string]*node{}}
	r := tomlReader{file: file, root: root, at: root}
	r.parser.Reset(text)
	for r.parser.NextExpression() {
		r.expression(r.parser.Expression())
	}
	if err := r.parser.Error(); err != nil {
		return nil, unreadable(file, 0, "this is not TOML", err)
	}
	return root, nil
}

// tomlReader builds a tree from expressions; at is the present table.
type tomlReader struct {
	parser unstable.Parser
	file   string
	root   *node
	at     *node
}

func (r *tomlReader) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.Table:
		r.at = r.reach(r.root, r.key(e), e, false)
	case unstable.ArrayTable:
		r.at = r.reach(r.root, r.key(e), e, true)
	case unstable.KeyValue:
		r.assign(r.at, e)
	}
}

func (r *tomlReader) assign(table *node, e *unstable.Node) {
	key := r.key(e)
	last := len(key) - 1
	table = r.reach(table, key[:last], e, false)
	table.add(key[last], r.value(e.Value(), below(table.path, key[last]), r.line(e)))
}

func (r *tomlReader) key(e *unstable.Node) (parts []string) {
	for it := e.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
	}
	return parts
}

// line returns the line of an expression: that of the first part of its key.
func (r *tomlReader) line(e *unstable.Node) int {
	it := e.Key()
	if !it.Next() {
		return 0
	}
	return r.parser.Shape(it.Node().Raw).Start.Line
}

// reach returns the table at a path of keys, creating it if necessary. For a list of tables it returns the last one, or
// a new one if fresh is true.
func (r *tomlReader) reach(from *node, key []string, e *unstable.Node, fresh bool) *node {
	for i, name := range key {
		next := from.get(name)
		last := i == len(key)-1
		path := below(from.path, name)
		if fresh && last {
			if next == nil {
				next = &node{file: r.file, line: r.line(e), path: path}
				from.add(name, next)
			}
			next.items = append(next.items, &node{file: r.file, line: r.line(e), path: at(path, len(next.items)), fields: map[string]*node{}})
		} else if next == nil {
			next = &node{file: r.file, line: r.line(e), path: path, fields: map[string]*node{}}
			from.add(name, next)
		}
		if n := len(next.items); n > 0 {
			next = next.items[n-1]
		}
		from = next
	}
	return from
}

func (r *tomlReader) value(v *unstable.Node, path string, line int) *node {
	n := &node{file: r.file, line: line, path: path, text: string(v.Data)}
	switch v.Kind {
	case unstable.Array:
		n.text, n.items = "", []*node{}
		for it := v.Children(); it.Next(); {
			n.items = append(n.items, r.value(it.Node(), at(path, len(n.items)), line))
		}
	case unstable.InlineTable:
		n.text, n.fields = "", map[string]*node{}
		for it := v.Children(); it.Next(); {
			r.assign(n, it.Node())
		}
	}
	return n
}

func unreadable(file string, line int, message string, err error) error {
	f := host.Fault{Code: events.CodeMalformed, File: file, Line: line, Message: message, Hint: "correct the file, or say with --from what it is"}
	if err != nil {
		f.Cause = strings.TrimPrefix(err.Error(), "yaml: ")
	}
	return host.Faults{f}
}
