package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// pattern matches values: a text with * and ?, or a numeric comparison.
type pattern struct {
	text    string
	compare string // Empty for a text.
	bound   float64
}

// patternOf reads a pattern.
func patternOf(text string) (pattern, error) {
	for _, sign := range []string{">=", "<=", ">", "<"} {
		rest, found := strings.CutPrefix(text, sign)
		if !found {
			continue
		}
		bound, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
		if err != nil || math.IsNaN(bound) {
			return pattern{}, fmt.Errorf("%q compares with no number", text)
		}
		return pattern{compare: sign, bound: bound}, nil
	}
	return pattern{text: text}, nil
}

// fits compares a value with the pattern. A value that cannot be compared matches if doubt is true.
func (p pattern) fits(value any, doubt bool) bool {
	said := words(value)
	if p.compare == "" {
		return glob(p.text, said)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(said), 64)
	if err != nil || math.IsNaN(n) {
		return doubt
	}
	switch p.compare {
	case ">":
		return n > p.bound
	case ">=":
		return n >= p.bound
	case "<":
		return n < p.bound
	}
	return n <= p.bound
}

// words returns a value in the form for patterns: a string unchanged, anything else as JSON.
func words(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "" // Cannot happen: the value was decoded from JSON.
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readArgs parses arguments, keeping numbers as written; anything that is not JSON has no arguments.
func readArgs(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// valuesAt collects the values at a path. Names are case-insensitive, since tools may read them so, and every element of a list is
// included. The name * matches any.
func valuesAt(v any, path []string) []any {
	switch v := v.(type) {
	case []any:
		if len(path) == 0 && len(v) == 0 {
			return []any{v}
		}
		var found []any
		for _, item := range v {
			found = append(found, valuesAt(item, path)...)
		}
		return found
	case map[string]any:
		if len(path) == 0 {
			return []any{v}
		}
		var found []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if path[0] == "*" || strings.EqualFold(key, path[0]) {
				found = append(found, valuesAt(v[key], path[1:])...)
			}
		}
		return found
	}
	if len(path) == 0 {
		return []any{v}
	}
	return nil
}

// Matches reports whether a text fits a pattern in which * is any text and ? any one character.
func Matches(pattern, text string) bool { return glob(pattern, text) }

// glob matches the whole text in time proportional to at most the product of both lengths.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, resume, i := -1, 0, 0
	for j := 0; j < len(t); {
		switch {
		case i < len(p) && p[i] == '*':
			star, resume = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
