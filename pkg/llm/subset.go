package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// subset is the part of JSON Schema that a provider accepts.
type subset struct {
	// keywords are accepted as they are.
	keywords []string
	// plainEnums is true if the values of an enum must be texts or numbers.
	plainEnums bool
	// bareRefs is true if a reference may have no siblings.
	bareRefs bool
	// mostMinItems is the largest minItems.
	mostMinItems string
}

var (
	anthropicSchema = subset{
		keywords: []string{
			"type", "title", "description", "enum", "const", "default", "format", "properties", "required", "additionalProperties", "items", "minItems",
			"anyOf", "allOf", "$ref", "$defs", "definitions",
		},
		mostMinItems: "1",
	}
	geminiSchema = subset{
		keywords: []string{
			"type", "title", "description", "enum", "format", "properties", "required", "additionalProperties", "propertyOrdering", "items", "prefixItems",
			"minItems", "maxItems", "minimum", "maximum", "anyOf", "$ref", "$defs", "$anchor",
		},
		plainEnums: true, bareRefs: true,
	}
)

// told are keywords that are moved into the description if a provider does not accept them, so that the model still sees them.
var told = []string{
	"const", "enum", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// member is a member of an object. The order is kept, since models write properties in the order of the schema.
type member struct {
	name string
	raw  json.RawMessage
}

// reduced returns a schema in the part of JSON Schema that a provider accepts. What the provider cannot enforce goes into the
// description; other code validates the answer in any case.
func reduced(schema json.RawMessage, s subset) json.RawMessage { return s.reduce(schema, 0) }

// maxSchema is the nesting depth beyond which a schema is not changed.
const maxSchema = 64

func (s subset) reduce(raw json.RawMessage, depth int) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok || depth > maxSchema {
		return raw
	}
	members = s.inline(members)
	if at := find(members, "$ref"); at >= 0 && s.bareRefs {
		members = slices.DeleteFunc(members, func(m member) bool { return !strings.HasPrefix(m.name, "$") })
	}
	var kept []member
	var notes []string
	for _, m := range members {
		if made, ok := s.keyword(m, members, depth); ok {
			kept = append(kept, made)
		} else if slices.Contains(told, m.name) {
			notes = append(notes, m.name+": "+string(m.raw))
		}
	}
	return written(describe(kept, notes))
}

// keyword returns a keyword as the provider accepts it, or false.
func (s subset) keyword(m member, all []member, depth int) (member, bool) {
	switch m.name {
	case "oneOf":
		if find(all, "anyOf") < 0 {
			m.name = "anyOf"
		}
	case "const":
		if !slices.Contains(s.keywords, m.name) && find(all, "enum") < 0 {
			m.name, m.raw = "enum", slices.Concat(json.RawMessage("["), m.raw, json.RawMessage("]"))
		}
	case "definitions":
		if !slices.Contains(s.keywords, m.name) {
			m.name = "$defs"
		}
	case "$ref":
		if !slices.Contains(s.keywords, "definitions") {
			m.raw = bytes.Replace(m.raw, []byte("#/definitions/"), []byte("#/$defs/"), 1)
		}
	case "minItems":
		if s.mostMinItems != "" && string(m.raw) != "0" && string(m.raw) != s.mostMinItems {
			return m, false
		}
	}
	if !slices.Contains(s.keywords, m.name) || m.name == "enum" && s.plainEnums && !plainEnum(m.raw) {
		return m, false
	}
	switch m.name {
	case "properties", "$defs", "definitions":
		inner, ok := membersOf(m.raw)
		if !ok {
			return m, false
		}
		for i := range inner {
			inner[i].raw = s.reduce(inner[i].raw, depth+1)
		}
		m.raw = written(inner)
	case "items", "additionalProperties":
		m.raw = s.reduce(m.raw, depth+1)
	case "anyOf", "allOf", "prefixItems":
		var list []json.RawMessage
		if json.Unmarshal(m.raw, &list) != nil {
			return m, false
		}
		for i := range list {
			list[i] = s.reduce(list[i], depth+1)
		}
		m.raw, _ = json.Marshal(list) // The values were decoded just now, so they can be encoded.
	}
	return m, true
}

// inline moves the members of allOf into the schema itself, if the provider does not know it. Keywords that already exist stay.
func (s subset) inline(members []member) []member {
	at := find(members, "allOf")
	if at < 0 || slices.Contains(s.keywords, "allOf") {
		return members
	}
	var parts []json.RawMessage
	if json.Unmarshal(members[at].raw, &parts) != nil {
		return members
	}
	members = slices.Delete(slices.Clone(members), at, at+1)
	for _, part := range parts {
		more, _ := membersOf(part) // Anything else has no members.
		for _, m := range more {
			if find(members, m.name) < 0 {
				members = append(members, m)
			}
		}
	}
	return members
}

// describe adds notes to the description.
func describe(members []member, notes []string) []member {
	if len(notes) == 0 {
		return members
	}
	note, text := "("+strings.Join(notes, "; ")+")", ""
	at := find(members, "description")
	if at < 0 {
		at = len(members)
		members = append(members, member{name: "description"})
	} else if json.Unmarshal(members[at].raw, &text) == nil && text != "" {
		note = text + " " + note
	}
	members[at].raw, _ = json.Marshal(note) // A text can always be encoded.
	return members
}

func plainEnum(raw json.RawMessage) bool {
	var values []any
	if json.Unmarshal(raw, &values) != nil {
		return false
	}
	return !slices.ContainsFunc(values, func(v any) bool {
		switch v.(type) {
		case string, float64:
			return false
		}
		return true
	})
}

func find(members []member, name string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.name == name })
}

// membersOf returns the members of an object in their order.
func membersOf(raw json.RawMessage) (members []member, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for decoder.More() {
		name, err := decoder.Token()
		text, is := name.(string)
		m := member{name: text}
		if err != nil || !is || decoder.Decode(&m.raw) != nil {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}

func written(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // A text can always be encoded.
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}
