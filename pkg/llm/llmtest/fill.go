package llmtest

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// form is the part of JSON Schema that filling needs.
type form struct {
	Ref        string          `json:"$ref"`
	Type       json.RawMessage `json:"type"`
	Const      any             `json:"const"`
	Enum       []any           `json:"enum"`
	Default    any             `json:"default"`
	Properties map[string]form `json:"properties"`
	Required   []string        `json:"required"`
	Items      *form           `json:"items"`
	MinItems   int             `json:"minItems"`
	MinLength  int             `json:"minLength"`
	Minimum    *float64        `json:"minimum"`
	AnyOf      []form          `json:"anyOf"`
	OneOf      []form          `json:"oneOf"`
	AllOf      []form          `json:"allOf"`
	Others     json.RawMessage `json:"additionalProperties"`
	MinFields  int             `json:"minProperties"`
	Defs       map[string]form `json:"$defs"`
	Old        map[string]form `json:"definitions"`
}

// maxNesting is the depth at which a recursive form is left empty.
const maxNesting = 24

// filler fills one form.
type filler struct {
	root form
	goal string
}

// fill returns the simplest value that fits a schema: only the required parts, with texts made from the goal.
func fill(schema json.RawMessage, goal string) string {
	var root form
	if json.Unmarshal(schema, &root) != nil {
		return "{}"
	}
	f := filler{root: root, goal: goal}
	data, err := json.Marshal(f.value(root, "", 0, 0))
	if err != nil {
		return "{}"
	}
	return string(data)
}

// value fills a part of the form; name is its property, n its index in a list.
func (f filler) value(part form, name string, n, depth int) any {
	part = f.resolve(part, depth)
	switch {
	case depth > maxNesting:
		return nil
	case part.Const != nil:
		return part.Const
	case len(part.Enum) > 0:
		return choose(part.Enum)
	case part.Default != nil:
		return part.Default
	}
	switch kind(part) {
	case "object":
		return f.object(part, n, depth)
	case "array":
		return f.list(part, name, depth)
	case "string":
		return f.text(part, name, n)
	case "integer":
		return math.Ceil(least(part))
	case "number":
		return least(part)
	case "boolean":
		return yes[name]
	}
	return nil
}

// yes are the properties set to true, without which a plan would be a question or a refusal.
var yes = map[string]bool{"adequate": true, "has_enough_context": true, "accepted": true, "ok": true, "success": true}

// onward are the choices with which work continues instead of being answered, refused or asked about.
var onward = []any{"hand_on", "plan", "accept"}

func choose(options []any) any {
	for _, option := range options {
		if slices.Contains(onward, option) {
			return option
		}
	}
	return options[0]
}

// resolve follows references and takes the first of several forms; optional parts stay empty.
func (f filler) resolve(part form, depth int) form {
	for range maxNesting - min(depth, maxNesting) {
		switch {
		case part.Ref != "":
			name := part.Ref[strings.LastIndexByte(part.Ref, '/')+1:]
			next, ok := f.root.Defs[name]
			if !ok {
				next, ok = f.root.Old[name]
			}
			if !ok && name == "#" {
				next = f.root
			}
			part = next
		case len(part.AnyOf) > 0:
			part = mayBeNull(part.AnyOf)
		case len(part.OneOf) > 0:
			part = mayBeNull(part.OneOf)
		case len(part.AllOf) > 0:
			part = part.AllOf[0]
		default:
			return part
		}
	}
	return part
}

func mayBeNull(forms []form) form {
	for _, part := range forms {
		if kind(part) == "null" {
			return part
		}
	}
	return forms[0]
}

// kind returns the first type that is not null; if no type is given, it is guessed from other keywords.
func kind(part form) string {
	var one string
	var many []string
	if json.Unmarshal(part.Type, &one) == nil {
		return one
	}
	if json.Unmarshal(part.Type, &many) == nil {
		for _, name := range many {
			if name != "null" {
				return name
			}
		}
	}
	switch {
	case part.Properties != nil:
		return "object"
	case part.Items != nil:
		return "array"
	case part.Ref != "" || part.AnyOf != nil || part.OneOf != nil || part.AllOf != nil:
		return ""
	}
	return "null"
}

func (f filler) object(part form, n, depth int) object {
	made := object{}
	names := part.Required
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(part.Properties))
	}
	for _, name := range names {
		made[name] = f.value(part.Properties[name], name, n, depth+1)
	}
	var others form
	if len(made) < part.MinFields && json.Unmarshal(part.Others, &others) == nil {
		for i := len(made); i < part.MinFields; i++ {
			made["subtask_"+strconv.Itoa(i+1)] = f.value(others, "", i, depth+1)
		}
	}
	return made
}

// list returns as many items as required, or one if optional. Steps depend on no others.
func (f filler) list(part form, name string, depth int) []any {
	made := []any{}
	wanted := max(part.MinItems, 1)
	if name == "dependencies" || name == "depends_on" || part.Items == nil {
		wanted = part.MinItems
	}
	for n := range min(wanted, 100) {
		item := form{}
		if part.Items != nil {
			item = *part.Items
		}
		made = append(made, f.value(item, name, n, depth+1))
	}
	return made
}

func (f filler) text(part form, name string, n int) string {
	made := f.goal
	switch name {
	case "id":
		made = "s" + string(rune('1'+n%9))
	case "locale", "language":
		made = "en-US"
	case "reason", "thought", "thinking", "guidance_message":
		made = "This is a scripted answer."
	}
	for len(made) < part.MinLength {
		made += "."
	}
	return made
}

func least(part form) float64 {
	if part.Minimum != nil {
		return *part.Minimum
	}
	return 0
}
