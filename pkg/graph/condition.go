package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Condition is a parsed `when`: comparisons of values in the results of direct predecessors, joined by and, or, not and
// parentheses, such as "survey.files > 0 and not survey.partial". An operand is "<SubJob>.<path>"; alone it is true if the value
// exists and is not false, null, 0 or "". A missing value equals nothing.
type Condition struct {
	op          string
	left, right *Condition
	at          operand
	literal     any
}

type operand struct{ subjob, path string }

// maxCondition limits the text of a condition in bytes, and with it the depth of its tree.
const maxCondition = 1000

// ParseCondition parses a `when`; an empty text yields nil, which is always true.
func ParseCondition(text string) (*Condition, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > maxCondition {
		return nil, fmt.Errorf("a condition has at most %d bytes, this one %d", maxCondition, len(text))
	}
	p := parser{rest: text, whole: text}
	c, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.skip(); p.rest != "" {
		return nil, p.fail("end of condition")
	}
	return c, nil
}

// condition is like ParseCondition, for a text that was checked before.
func condition(text string) *Condition {
	c, err := ParseCondition(text)
	if err != nil {
		return nil
	}
	return c
}

// SubJobs lists the ids that the condition reads, each once, in order of appearance.
func (c *Condition) SubJobs() []string {
	var ids []string
	for _, o := range c.operands() {
		if !slices.Contains(ids, o.subjob) {
			ids = append(ids, o.subjob)
		}
	}
	return ids
}

func (c *Condition) operands() []operand {
	if c == nil {
		return nil
	}
	if c.left == nil {
		return []operand{c.at}
	}
	return append(c.left.operands(), c.right.operands()...)
}

// holds evaluates the condition over the values that get finds: nil, bool, float64 or string.
func (c *Condition) holds(get func(subjob, path string) any) bool {
	switch c.op {
	case "and":
		return c.left.holds(get) && c.right.holds(get)
	case "or":
		return c.left.holds(get) || c.right.holds(get)
	case "not":
		return !c.left.holds(get)
	case "":
		switch v := get(c.at.subjob, c.at.path).(type) {
		case bool:
			return v
		case float64:
			return v != 0
		case string:
			return v != ""
		}
		return false
	}
	return compare(get(c.at.subjob, c.at.path), c.op, c.literal)
}

func compare(value any, op string, literal any) bool {
	switch op {
	case "==":
		return value == literal
	case "!=":
		return value != literal
	}
	order := 2
	if a, ok := value.(float64); ok {
		if b, ok := literal.(float64); ok {
			order = sign(a < b, a > b)
		}
	} else if a, ok := value.(string); ok {
		if b, ok := literal.(string); ok {
			order = strings.Compare(a, b)
		}
	}
	switch {
	case order == 2:
		return false
	case op == "<":
		return order < 0
	case op == "<=":
		return order <= 0
	case op == ">":
		return order > 0
	}
	return order >= 0
}

func sign(less, more bool) int {
	if less {
		return -1
	}
	if more {
		return 1
	}
	return 0
}

type parser struct{ rest, whole string }

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *parser) fail(want string) error {
	return fmt.Errorf("at byte %d of %q: want %s", len(p.whole)-len(p.rest)+1, p.whole, want)
}

// word consumes one of the given tokens; a token of letters must end there.
func (p *parser) word(tokens ...string) (string, bool) {
	p.skip()
	for _, t := range tokens {
		rest, ok := strings.CutPrefix(p.rest, t)
		if ok && (!isLetter(t[0]) || rest == "" || !nameByte(rest[0])) {
			p.rest = rest
			return t, true
		}
	}
	return "", false
}

func (p *parser) or() (*Condition, error)  { return p.chain(p.and, "or", "||") }
func (p *parser) and() (*Condition, error) { return p.chain(p.not, "and", "&&") }

func (p *parser) chain(next func() (*Condition, error), op, sign string) (*Condition, error) {
	left, err := next()
	for err == nil {
		if _, ok := p.word(op, sign); !ok {
			return left, nil
		}
		var right *Condition
		right, err = next()
		left = &Condition{op: op, left: left, right: right}
	}
	return nil, err
}

func (p *parser) not() (*Condition, error) {
	if _, ok := p.word("not", "!"); ok {
		c, err := p.not()
		return &Condition{op: "not", left: c}, err
	}
	if _, ok := p.word("("); ok {
		c, err := p.or()
		if err != nil {
			return nil, err
		}
		if _, ok := p.word(")"); !ok {
			return nil, p.fail(`")"`)
		}
		return c, nil
	}
	return p.comparison()
}

func (p *parser) comparison() (*Condition, error) {
	p.skip()
	end := 0
	for end < len(p.rest) && (nameByte(p.rest[end]) || p.rest[end] == '.') {
		end++
	}
	subjob, path, ok := strings.Cut(p.rest[:end], ".")
	if !ok || subjob == "" || path == "" {
		return nil, p.fail("<subjob>.<path>")
	}
	p.rest = p.rest[end:]
	c := &Condition{at: operand{subjob, path}}
	op, ok := p.word("==", "!=", "<=", ">=", "<", ">")
	if !ok {
		return c, nil
	}
	c.op = op
	var err error
	c.literal, err = p.literal()
	return c, err
}

func (p *parser) literal() (any, error) {
	if t, ok := p.word("true", "false", "null"); ok {
		return map[string]any{"true": true, "false": false, "null": nil}[t], nil
	}
	if p.skip(); p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '\'') {
		end := strings.IndexByte(p.rest[1:], p.rest[0])
		if end < 0 {
			return nil, p.fail("a closing quote")
		}
		text := p.rest[1 : end+1]
		p.rest = p.rest[end+2:]
		return text, nil
	}
	end := 0
	for end < len(p.rest) && strings.IndexByte("+-.eE0123456789", p.rest[end]) >= 0 {
		end++
	}
	number, err := strconv.ParseFloat(p.rest[:end], 64)
	if err != nil {
		return nil, p.fail(`a number, "text", true, false or null`)
	}
	p.rest = p.rest[end:]
	return number, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func nameByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '~'
}

// RenameOperands renames the SubJobs in a valid condition, and leaves everything else unchanged.
func RenameOperands(when string, rename func(name, path string) string) string {
	var b strings.Builder
	literal := false // A value follows a comparison: 1.5 is not an operand.
	for i := 0; i < len(when); {
		end := i + 1
		switch c := when[i]; {
		case c == '"' || c == '\'':
			end += strings.IndexByte(when[end:], c) + 1
			literal = false
		case c == '=' || c == '<' || c == '>':
			literal = true
		case nameByte(c) || c == '.':
			for end < len(when) && (nameByte(when[end]) || when[end] == '.') {
				end++
			}
			if name, path, ok := strings.Cut(when[i:end], "."); ok && !literal {
				b.WriteString(rename(name, path) + "." + path)
				i = end
				continue
			}
			literal = false
		}
		b.WriteString(when[i:end])
		i = end
	}
	return b.String()
}

// Select reads the value at a dotted path of a JSON document; list elements are named by position. The part of an operand before
// the first dot names the document, so the path begins after it.
func Select(doc json.RawMessage, path string) (json.RawMessage, bool) {
	for _, name := range strings.Split(path, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(doc, &fields) == nil && fields != nil {
			next, ok := fields[name]
			if !ok {
				return nil, false
			}
			doc = next
			continue
		}
		var items []json.RawMessage
		at, err := strconv.Atoi(name)
		if json.Unmarshal(doc, &items) != nil || err != nil || at < 0 || at >= len(items) {
			return nil, false
		}
		doc = items[at]
	}
	return doc, true
}

// scalar returns a JSON scalar as conditions compare it; anything else counts as true.
func scalar(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	switch v.(type) {
	case nil, bool, float64, string:
		return v
	}
	return true
}

// Compared reduces a JSON value to what conditions can distinguish: a long text is cut where no condition can name a longer one,
// and a long list or object is reduced to its presence.
func Compared(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxSelected {
		return raw
	}
	v := scalar(raw)
	if text, ok := v.(string); ok {
		v = cut(text, maxCondition)
	}
	short, err := json.Marshal(v)
	if err != nil {
		return nil // This is not reached: a scalar can always be encoded.
	}
	return short
}
