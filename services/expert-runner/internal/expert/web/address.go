package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// address is a URL with placeholders for fields of the work.
type address struct {
	parts []part
	// base is the address with harmless values in all placeholders: every call has the same scheme and host.
	base *url.URL
}

// part is a piece of text, or a placeholder.
type part struct {
	text string
	// path is the dotted path of the field for the placeholder; empty for text.
	path string
	// query is true after the question mark.
	query bool
}

// parseAddress parses a URL with placeholders in braces. Errors never repeat the URL, which may contain a secret.
func parseAddress(text string) (*address, error) {
	a := &address{}
	var plain strings.Builder
	query := false
	for rest := text; rest != ""; {
		before, behind, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, errors.New("has a } without {")
		}
		query = query || strings.Contains(before, "?")
		a.parts = append(a.parts, part{text: before})
		plain.WriteString(before)
		if !found {
			break
		}
		path, next, closed := strings.Cut(behind, "}")
		if !closed || path == "" || strings.ContainsAny(path, "{ ") {
			return nil, errors.New("has a place that is not closed or not named: write {inputs.order}")
		}
		if _, host, ok := strings.Cut(plain.String(), "://"); !ok || !strings.ContainsAny(host, "/?") {
			return nil, fmt.Errorf("has the place {%s} in its scheme or host: only path and query can be filled", path)
		}
		a.parts = append(a.parts, part{path: path, query: query})
		plain.WriteString("x")
		rest = next
	}
	base, err := url.Parse(plain.String())
	switch {
	case err != nil:
		return nil, errors.New("is no URL")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, errors.New("has to begin with http:// or https:// and a host")
	case base.User != nil:
		return nil, errors.New("has a user in it: send a header Authorization")
	case base.Fragment != "":
		return nil, errors.New("has a fragment, which no server sees")
	}
	a.base = base
	return a, nil
}

// places reports whether there are placeholders.
func (a *address) places() bool {
	return slices.ContainsFunc(a.parts, func(p part) bool { return p.path != "" })
}

// fill replaces the placeholders by the escaped fields of the work, and returns these for the journal.
func (a *address) fill(workBuffer json.RawMessage) (*url.URL, map[string]string, error) {
	var b strings.Builder
	filled := map[string]string{}
	for _, p := range a.parts {
		if p.path == "" {
			b.WriteString(p.text)
			continue
		}
		value, err := scalar(workBuffer, p)
		if err != nil {
			return nil, nil, err
		}
		filled[p.path] = value
		if p.query {
			b.WriteString(url.QueryEscape(value))
		} else {
			b.WriteString(url.PathEscape(value))
		}
	}
	u, err := url.Parse(b.String())
	if err != nil || u.Scheme != a.base.Scheme || u.Host != a.base.Host {
		return nil, nil, unfit("the fields of the work do not make a URL of this host")
	}
	if len(filled) > 0 && slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return nil, nil, unfit("the fields of the work lead to another path of the server")
	}
	return u, filled, nil
}

// scalar returns the text of a field. An empty one is an error, since it would change the path.
func scalar(workBuffer json.RawMessage, p part) (string, error) {
	raw, ok := task.At(workBuffer, p.path)
	if !ok || string(raw) == "null" {
		return "", unfit(p.path + " is missing in the work, and the address needs it")
	}
	var text string
	switch {
	case raw[0] == '{' || raw[0] == '[':
		return "", unfit(p.path + " is no text and no number, and the address needs one")
	case raw[0] != '"':
		return string(raw), nil
	case json.Unmarshal(raw, &text) != nil || text == "" && !p.query:
		return "", unfit(p.path + " is empty, and the path of the address needs it")
	}
	return text, nil
}

func unfit(message string) error {
	return &events.Fault{Code: events.CodeInputData, Message: message, Hint: "hand it over as an input or as a result"}
}
