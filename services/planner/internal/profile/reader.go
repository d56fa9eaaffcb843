package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// reader collects the faults of one file, each with line and column.
type reader struct {
	file   string
	faults []error
}

// field is a known key and the function that reads its value.
type field struct {
	name string
	read func(*yaml.Node)
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s:%d:%d: %s", r.file, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// object reads the known keys of a mapping; unknown and repeated keys are faults.
func (r *reader) object(n *yaml.Node, fields []field) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "expected keys and values")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case seen[name]:
			r.fault(n.Content[i], "%s is given twice", name)
		case at < 0:
			r.fault(n.Content[i], "unknown key %.60q; known are %s", name, names(fields))
		default:
			fields[at].read(n.Content[i+1])
		}
		seen[name] = true
	}
}

func names(fields []field) string {
	list := make([]string, len(fields))
	for i := range fields {
		list[i] = fields[i].name
	}
	return strings.Join(list, ", ")
}

func (r *reader) need(n *yaml.Node, keys ...string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for _, name := range keys {
		found := false
		for i := 0; i < len(n.Content); i += 2 {
			found = found || n.Content[i].Value == name
		}
		if !found {
			r.fault(n, "%s is missing", name)
		}
	}
}

func (r *reader) scalar(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fault(n, "expected one value")
		return "", false
	}
	return n.Value, true
}

func (r *reader) text(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if text, ok := r.scalar(n); ok {
			*to = text
		}
	}
}

func (r *reader) word(to *string, allowed ...string) func(*yaml.Node) {
	return func(n *yaml.Node) { *to = one(r, n, allowed) }
}

// one reads one of the allowed words.
func one[T ~string](r *reader, n *yaml.Node, allowed []T) T {
	text, ok := r.scalar(n)
	if ok && !slices.Contains(allowed, T(text)) {
		r.fault(n, "%.60q is none of %s", text, joined(allowed))
	}
	return T(text)
}

// words reads a list of allowed words, each at most once.
func words[T ~string](r *reader, n *yaml.Node, allowed []T) []T {
	var list []T
	for _, item := range r.items(n) {
		word := one(r, item, allowed)
		if slices.Contains(list, word) {
			r.fault(item, "%s is listed twice", word)
		}
		list = append(list, word)
	}
	return list
}

func joined[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(list[i])
	}
	return strings.Join(texts, ", ")
}

func (r *reader) items(n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "expected a list")
		return nil
	}
	return n.Content
}

func (r *reader) list(to *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		for _, item := range r.items(n) {
			if text, ok := r.scalar(item); ok {
				*to = append(*to, text)
			}
		}
	}
}

// texts reads a mapping of texts; whether the prompts exist is checked later.
func (r *reader) texts(to *map[string]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.fault(n, "expected keys and values")
			return
		}
		*to = map[string]string{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if text, ok := r.scalar(n.Content[i+1]); ok {
				(*to)[n.Content[i].Value] = text
			}
		}
	}
}

func (r *reader) number(to *int, least, most int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, ok := r.scalar(n)
		if !ok {
			return
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < least || v > most {
			r.fault(n, "%.40q is no whole number from %d to %d", text, least, most)
			return
		}
		*to = v
	}
}

func (r *reader) flag(to *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, ok := r.scalar(n)
		if ok && text != "true" && text != "false" {
			r.fault(n, "%.40q is neither true nor false", text)
		}
		*to = text == "true"
	}
}

func (r *reader) duration(to *events.Duration) func(*yaml.Node) {
	return r.durationUpTo(to, 0)
}

// durationUpTo reads a duration of at most most; 0 means no limit.
func (r *reader) durationUpTo(to *events.Duration, most time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		text, ok := r.scalar(n)
		if !ok {
			return
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			r.fault(n, `%.40q is no duration, "24h" for one`, text)
			return
		}
		if most > 0 && d > most {
			r.fault(n, "%.40q is longer than %s", text, most)
			return
		}
		*to = events.Duration(d)
	}
}
