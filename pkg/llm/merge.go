package llm

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

// callPiece is the part of a call in one chunk. Any field may be missing.
type callPiece struct {
	index          *int
	id, name, args string
}

// merger assembles calls from pieces. Providers repeat names, change ids, leave out indices, put two calls on one index,
// and send the same arguments twice. A call whose arguments are an unfinished object is never split.
type merger struct {
	calls []*building
	at    map[int]*building
}

// building is a call under construction.
type building struct {
	id, name string
	args     strings.Builder
	// open counts brackets outside of strings; closed is true once all are closed.
	open            int
	quoted, escaped bool
	closed          bool
}

// add adds a piece. It returns the name of a call that begins with it, or "".
func (m *merger) add(p callPiece) string {
	b := m.find(p)
	if b == nil || b.endsBefore(p) {
		b = &building{}
		m.calls = append(m.calls, b)
		if p.index != nil {
			if m.at == nil {
				m.at = map[int]*building{}
			}
			m.at[*p.index] = b
		}
	}
	first := b.name == "" && p.name != ""
	if b.id == "" {
		b.id = p.id
	}
	b.rename(p.name)
	b.extend(p.args)
	if first {
		return b.name
	}
	return ""
}

// find returns the call that a piece may belong to: the one on its index, else the last.
func (m *merger) find(p callPiece) *building {
	if p.index != nil {
		return m.at[*p.index]
	}
	if len(m.calls) == 0 {
		return nil
	}
	return m.calls[len(m.calls)-1]
}

// endsBefore reports whether a piece begins another call.
func (b *building) endsBefore(p callPiece) bool {
	switch {
	case p.name == "" || b.open > 0:
		return false
	case p.id != "" && b.id != "":
		return p.id != b.id
	case b.closed:
		return p.args != "" || p.name != b.name
	}
	return false
}

// maxName is the length in bytes at which a name stops growing; providers allow 64.
const maxName = 256

// rename handles a name that comes whole, repeated, growing, or in pieces.
func (b *building) rename(name string) {
	switch {
	case name == "" || name == b.name || b.args.Len() > 0 && b.name != "" || len(b.name) > maxName:
	case strings.HasPrefix(name, b.name):
		b.name = name
	default:
		b.name += name
	}
}

// extend appends arguments and counts their brackets.
func (b *building) extend(args string) {
	b.args.WriteString(args)
	for i := range len(args) {
		switch c := args[i]; {
		case b.escaped:
			b.escaped = false
		case b.quoted && c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted:
		case c == '{' || c == '[':
			b.open++
		case c == '}' || c == ']':
			b.open = max(0, b.open-1)
			b.closed = b.open == 0
		}
	}
}

// complete counts the calls that have begun, and reports whether each has a name and arguments that are whole JSON. With bare a call may
// be without arguments.
func (m *merger) complete(bare bool) (calls int, whole bool) {
	for _, b := range m.calls {
		args := b.args.String()
		if b.name == "" || strings.TrimSpace(args) == "" && !bare || !json.Valid([]byte(pulledApart(args)[0])) {
			return len(m.calls), false
		}
	}
	return len(m.calls), true
}

// finish returns the calls, each with a name, arguments and a unique id. answer makes generated ids reproducible.
func (m *merger) finish(answer string) ([]Call, *Error) {
	var calls []Call
	taken := map[string]bool{}
	for _, b := range m.calls {
		if b.name == "" {
			if strings.TrimSpace(b.args.String()) == "" {
				continue
			}
			return nil, &Error{Class: Malformed, Message: "a tool call has no name"}
		}
		for i, args := range pulledApart(b.args.String()) {
			call := Call{ID: b.id, Name: b.name, Args: args}
			if i > 0 || call.ID == "" || taken[call.ID] {
				call.ID = madeID(answer, len(calls), call)
			}
			taken[call.ID] = true
			calls = append(calls, call)
		}
	}
	return calls, nil
}

// pulledApart returns the arguments of one call, or of several whose objects were concatenated; an object sent twice counts
// once. Text that is not JSON stays as it is.
func pulledApart(args string) []string {
	args = strings.TrimSpace(args)
	if args == "" {
		return []string{"{}"}
	}
	if json.Valid([]byte(args)) {
		return []string{args}
	}
	var objects []string
	for decoder := json.NewDecoder(strings.NewReader(args)); ; {
		var object json.RawMessage
		err := decoder.Decode(&object)
		if err == io.EOF { // The decoder returns it unwrapped.
			return objects
		}
		if err != nil || object[0] != '{' {
			return []string{args}
		}
		if len(objects) == 0 || objects[len(objects)-1] != string(object) {
			objects = append(objects, string(object))
		}
	}
}

// madeID returns an id for a call without one: the same answer gives the same ids.
func madeID(answer string, n int, call Call) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d\x00%s\x00%s", answer, n, call.Name, call.Args)
	return fmt.Sprintf("call_%016x", h.Sum64())
}
