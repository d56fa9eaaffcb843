package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

// form maps the fields of a verb's input to their JSON types.
type form map[string]string

// formOf reads the schema of a verb's input.
func formOf(v *verb.Verb) form {
	f := form{}
	text, ok := verb.Schema(v.InputSchema())
	if !ok {
		return f
	}
	var schema struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(text, &schema) != nil {
		return f
	}
	for name, p := range schema.Properties {
		var one string
		var many []string
		if json.Unmarshal(p.Type, &one) != nil && json.Unmarshal(p.Type, &many) == nil {
			for _, t := range many {
				if t != "null" {
					one = t
				}
			}
		}
		f[name] = one
	}
	return f
}

// call is one request of a verb, over HTTP or from this process.
type call struct {
	gateway *Gateway
	verb    *verb.Verb
	w       http.ResponseWriter
	r       *http.Request
	who     identity.Identity
	// in is the input by field; raw is the body as sent.
	in  map[string]json.RawMessage
	raw []byte
	// made is the job that the call has created, for the log.
	made string
	// sent is true once an answer has begun.
	sent bool
}

// read collects the input: fields of the path, then of the query or the body, then the user.
func (c *call) read() *events.Fault {
	c.in = map[string]json.RawMessage{}
	var fault *events.Fault
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || c.r.Method == http.MethodDelete {
		fault = c.query()
	} else {
		fault = c.body()
	}
	if fault == nil {
		fault = c.path()
	}
	if fault == nil && c.verb.Name != "submit" { // Job requests have aliases for the user, which submit reads itself.
		fault = c.stamp(c.in)
	}
	return fault
}

// path adds the fields from the path.
func (c *call) path() *events.Fault {
	for name := range c.gateway.inputs[c.verb.Name] {
		value := c.r.PathValue(name)
		if value == "" {
			continue
		}
		if !utf8.ValidString(value) {
			return broken("path")
		}
		text, _ := json.Marshal(value) // A string can always be encoded.
		if given, ok := c.in[name]; ok && !bytes.Equal(given, text) {
			return &events.Fault{Code: events.CodeInvalid, Field: name, Message: "the body names another " + name + " than the path", Hint: "leave it out of the body"}
		}
		c.in[name] = text
	}
	return nil
}

func broken(field string) *events.Fault {
	return &events.Fault{Code: events.CodeMalformed, Field: field, Message: "it is not valid UTF-8", Hint: "send text in UTF-8"}
}

// query adds the fields from the query.
func (c *call) query() *events.Fault {
	values := c.r.URL.Query()
	fields := c.gateway.inputs[c.verb.Name]
	for name, list := range values {
		kind, known := fields[name]
		if !known || c.r.PathValue(name) != "" {
			names := make([]string, 0, len(fields))
			for field := range fields {
				if c.r.PathValue(field) == "" {
					names = append(names, field)
				}
			}
			slices.Sort(names)
			return &events.Fault{Code: events.CodeUnknownField, Field: clip(name), Message: "this route has no such parameter", Hint: "its parameters: " + strings.Join(names, ", ")}
		}
		text, fault := parameter(name, kind, list)
		if fault != nil {
			return fault
		}
		c.in[name] = text
	}
	return nil
}

// parameter converts a query parameter to JSON of a type.
func parameter(name, kind string, list []string) (json.RawMessage, *events.Fault) {
	value := list[len(list)-1]
	if !utf8.ValidString(strings.Join(list, "")) {
		return nil, broken(name)
	}
	bad := func(want string) (json.RawMessage, *events.Fault) {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: name, Message: fmt.Sprintf("%q is not %s", clip(value), want), Hint: "give " + want}
	}
	switch kind {
	case "integer":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
			return json.RawMessage(strconv.FormatInt(n, 10)), nil
		}
		return bad("a whole number from 0 on")
	case "boolean":
		if b, err := strconv.ParseBool(value); err == nil {
			return json.RawMessage(strconv.FormatBool(b)), nil
		}
		return bad("true or false")
	case "object":
		pairs := map[string]string{}
		for _, one := range list {
			key, text, ok := strings.Cut(one, "=")
			if !ok || key == "" {
				value = one
				return bad("NAME=VALUE")
			}
			pairs[key] = text
		}
		text, _ := json.Marshal(pairs) // Strings can always be encoded.
		return text, nil
	}
	text, _ := json.Marshal(value) // A string can always be encoded.
	return text, nil
}

// body reads a JSON object; an empty body is an empty object.
func (c *call) body() *events.Fault {
	if len(c.r.URL.RawQuery) > 0 {
		return &events.Fault{Code: events.CodeUnknownField, Field: "query", Message: "this route takes its input from the body", Hint: "send a JSON object"}
	}
	// A page of another site can send forms, but no Authorization header; curl declares JSON as a form by default.
	if media := c.r.Header.Get("Content-Type"); media != "" && c.r.Header.Get("Authorization") == "" {
		if kind, _, err := mime.ParseMediaType(media); err != nil || kind != "application/json" {
			return &events.Fault{Code: events.CodeMalformed, Field: "Content-Type", Message: clip(media) + " is not JSON", Hint: "send application/json"}
		}
	}
	body, fault := readBody(c.w, c.r, c.gateway.Body)
	if fault != nil {
		return fault
	}
	c.raw = bytes.TrimSpace(body)
	if len(c.raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.raw, &c.in); err != nil || c.in == nil {
		fault := &events.Fault{Code: events.CodeMalformed, Message: "the body is not a JSON object", Hint: "send one JSON object"}
		if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
			fault.Cause = fmt.Sprintf("byte %d: %s", at.Offset, err)
		} else if err != nil {
			fault.Cause = plainjson.Misfit(err)
		}
		return fault
	}
	return nil
}

// spelled refuses a field that a service would take for another one, whose value is checked here: services ignore the case of letters.
func (c *call) spelled(in map[string]json.RawMessage) *events.Fault {
	for name := range in { // any order: one of them is reported.
		for field := range c.gateway.inputs[c.verb.Name] {
			if name != field && strings.EqualFold(name, field) {
				return &events.Fault{Code: events.CodeUnknownField, Field: clip(name), Message: "there is no such field", Hint: "write " + field}
			}
		}
	}
	return nil
}

// stamp sets the user. Only an admin may name another one.
func (c *call) stamp(in map[string]json.RawMessage) *events.Fault {
	if fault := c.spelled(in); fault != nil {
		return fault
	}
	for _, name := range c.verb.By {
		var given string
		if text, ok := in[name]; ok && json.Unmarshal(text, &given) != nil {
			return &events.Fault{Code: events.CodeInvalid, Field: name, Message: "it is not a text", Hint: "leave it out: the token says who you are"}
		}
		user, fault := c.user(name, given)
		if fault != nil {
			return fault
		}
		if user != "" {
			in[name], _ = json.Marshal(user) // A string can always be encoded.
		}
	}
	return nil
}

// user returns the user in whose name a request is made; given is the one that it names.
func (c *call) user(field, given string) (string, *events.Fault) {
	switch {
	case given == "" || given == c.who.User:
		return c.who.User, nil
	case c.who.Has(): // Without roles to look for, only an admin has one.
		return given, nil
	}
	return "", &events.Fault{Code: events.CodeNotPermitted, Field: field, Message: c.who.User + " may not act for another user", Hint: "leave it out, or use a token with the role admin"}
}
