package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// object is a JSON object whose fields keep their order, with a list of repeated keys.
type object struct {
	fields []field
	// places indexes the fields of a large object; a small one is searched linearly.
	places map[string]int
	twice  []string
}

// field is one field of an object; used is true once it was read.
type field struct {
	key   string
	value json.RawMessage
	used  bool
}

// smallObject is the number of fields up to which a linear search is faster than a map.
const smallObject = 24

var errNoObject = errors.New("not a JSON object")

// readObject reads the top level of an object. The first of two equal keys wins. Values are slices of raw and as valid as
// raw.
func readObject(raw json.RawMessage) (object, error) {
	return readObjectInto(raw, make([]field, 0, 8))
}

// readObjectInto is readObject with preallocated space for the fields, which the object owns from then on.
func readObjectInto(raw json.RawMessage, room []field) (object, error) {
	o := object{fields: room[:0]}
	if kindOf(raw) != '{' {
		return o, errNoObject
	}
	c := cutter{text: raw}
	c.next('{')
	for first := true; !c.next('}'); first = false {
		if !first && !c.next(',') {
			return o, errNoObject
		}
		key, ok := c.key()
		if !ok || !c.next(':') {
			return o, errNoObject
		}
		value := c.value()
		if len(value) == 0 {
			return o, errNoObject
		}
		o.put(key, value)
	}
	return o, nil
}

func (o *object) put(key string, value json.RawMessage) {
	if o.find(key) >= 0 {
		o.twice = append(o.twice, key)
		return
	}
	o.fields = append(o.fields, field{key: key, value: value})
	switch n := len(o.fields); {
	case n == smallObject:
		o.places = make(map[string]int, 2*n)
		for i := range o.fields {
			o.places[o.fields[i].key] = i
		}
	case n > smallObject:
		o.places[key] = n - 1
	}
}

// find returns the position of a field, or -1.
func (o *object) find(name string) int {
	if o.places != nil {
		if i, ok := o.places[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.fields {
		if o.fields[i].key == name {
			return i
		}
	}
	return -1
}

func (o *object) has(name string) bool { return o.find(name) >= 0 }

// get returns the raw value of a field, or nil.
func (o *object) get(name string) json.RawMessage {
	if i := o.find(name); i >= 0 {
		return o.fields[i].value
	}
	return nil
}

// keys lists the names in their original order.
func (o *object) keys() []string {
	names := make([]string, len(o.fields))
	for i := range o.fields {
		names[i] = o.fields[i].key
	}
	return names
}

// kindOf returns the first byte of a value after blanks: '{', '[', '"', a digit, '-', 't', 'f', 'n', or 0 for nothing.
func kindOf(raw []byte) byte {
	for _, c := range raw {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// reader reads the fields of one object into a draft. Each fault has the path of its field.
type reader struct {
	draft *draft
	object
	// path is the path of the object, such as "subjobs[2]"; empty for the root.
	path string
}

// read opens the object at a path. If there is none, it records a fault and ok is false.
func (d *draft) read(raw json.RawMessage, path string) (r reader, ok bool) {
	return d.readInto(raw, path, make([]field, 0, 8))
}

// readInto is read with preallocated space for the fields, which the object owns from then on.
func (d *draft) readInto(raw json.RawMessage, path string, room []field) (r reader, ok bool) {
	o, err := readObjectInto(raw, room)
	if err != nil {
		d.faults.add(events.CodeInvalid, path, "is "+nameOf(raw)+", expected an object", "write {…} here")
		return r, false
	}
	r = reader{draft: d, object: o, path: path}
	r.doubled()
	return r, true
}

// doubled records the fields that occur twice.
func (r *reader) doubled() {
	for _, key := range r.twice {
		r.draft.faults.add(events.CodeInvalid, join(r.path, key), "the field is given twice", "keep one of the two")
	}
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// value returns the raw value of a field; null counts as absent.
func (r *reader) value(name string) (json.RawMessage, bool) {
	i := r.find(name)
	if i < 0 {
		return nil, false
	}
	f := &r.fields[i]
	f.used = true
	return f.value, kindOf(f.value) != 'n'
}

// text reads a text. Numbers become their digits. Lists and objects are converted with a warning: a list of texts to lines,
// anything else to compact JSON.
func (r *reader) text(name string) string {
	raw, ok := r.value(name)
	if !ok {
		return ""
	}
	switch kindOf(raw) {
	case '"':
		if plain, ok := plainText(raw); ok {
			return plain
		}
		text, ok := escaped(raw)
		if !ok {
			r.wrong(name, raw, "a text")
		}
		return text
	case '[', '{':
		r.draft.warnings.add(events.CodeInvalid, join(r.path, name), "is "+nameOf(raw)+", read as text", "write a text")
		return flatten(raw)
	}
	return string(bytes.TrimSpace(raw))
}

func flatten(raw json.RawMessage) string {
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		return strings.Join(lines, "\n")
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// into decodes a field that must have the exact type of target; want names that type for people.
func (r *reader) into(name, want string, target any) bool {
	raw, ok := r.value(name)
	if !ok {
		return false
	}
	if err := json.Unmarshal(raw, target); err != nil {
		r.wrong(name, raw, want)
		return false
	}
	return true
}

func (r *reader) flag(name string) *bool {
	if !r.has(name) {
		return nil
	}
	var b bool
	if !r.into(name, "true or false", &b) {
		return nil
	}
	return &b
}

// count reads an integer from 0 to 2^20.
func (r *reader) count(name string) *int {
	if !r.has(name) {
		return nil
	}
	var n int
	if !r.into(name, "a whole number", &n) {
		return nil
	}
	if n < 0 || n > 1<<20 {
		r.draft.faults.add(events.CodeInvalid, join(r.path, name), fmt.Sprintf("%d is outside 0 to %d", n, 1<<20), "")
		return nil
	}
	return &n
}

// list returns the raw items of a list.
func (r *reader) list(name string) []json.RawMessage {
	raw, ok := r.value(name)
	if !ok {
		return nil
	}
	items, ok := cutList(raw)
	if !ok {
		r.wrong(name, raw, "a list")
	}
	return items
}

// words reads a list of texts or numbers, such as "dependencies".
func (r *reader) words(name string) []string {
	items := r.list(name)
	if len(items) == 0 {
		return nil
	}
	out := make([]string, 0, len(items))
	for i, raw := range items {
		if word, ok := scalar(raw); ok {
			out = append(out, word)
			continue
		}
		r.wrong(fmt.Sprintf("%s[%d]", name, i), raw, "a text")
	}
	return out
}

func scalar(raw json.RawMessage) (string, bool) {
	switch c := kindOf(raw); {
	case c == '"':
		if text, ok := plainText(raw); ok {
			return text, true
		}
		return escaped(raw)
	case c == '-' || c >= '0' && c <= '9':
		return string(bytes.TrimSpace(raw)), true
	}
	return "", false
}

// need records a fault for each absent field.
func (r *reader) need(names ...string) {
	for _, name := range names {
		if !r.has(name) {
			r.draft.faults.add(events.CodeMissing, join(r.path, name), "is missing", "add "+name+" to "+r.place())
		}
	}
}

func (r *reader) place() string {
	if r.path == "" {
		return "the plan"
	}
	return clip.Marked(r.path, 80)
}

func (r *reader) wrong(name string, raw json.RawMessage, want string) {
	r.draft.faults.add(events.CodeInvalid, join(r.path, name), "is "+nameOf(raw)+", expected "+want, "")
}

// unread lists the fields that were not read, in order.
func (r *reader) unread() []string {
	var left []string
	for i := range r.fields {
		if !r.fields[i].used {
			left = append(left, r.fields[i].key)
		}
	}
	return left
}

// nameOf describes a raw value in words; a scalar with its value.
func nameOf(raw json.RawMessage) string {
	switch kindOf(raw) {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the text " + clip.Marked(string(bytes.TrimSpace(raw)), 60)
	case 'n':
		return "null"
	case 0:
		return "nothing"
	}
	return clip.Marked(string(bytes.TrimSpace(raw)), 60)
}
