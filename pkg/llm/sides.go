package llm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// side is everything that one side says before the other answers. Providers with two alternating roles expect conversations in this
// form.
type side struct {
	// model is true if the model speaks.
	model bool
	parts []sidePart
}

// sidePart is a part of a side; one of its fields is set.
type sidePart struct {
	text   string
	image  *Part
	call   *Call
	result *sideResult
	// raw is a part in the provider's own form.
	raw json.RawMessage
}

// sideResult is the result of a call.
type sideResult struct {
	// id is the id of the call on the wire; own is true if the provider made it.
	id   string
	own  bool
	name string
	text string
	// missing is true if the history has no result.
	missing bool
}

// Texts for what a provider demands and a history lacks.
const (
	noResult   = "The call has no result."
	noBegin    = "Begin."
	goOn       = "Continue."
	lateResult = "The result of an earlier call of a tool:\n"
)

// conversation converts messages to two alternating sides. The user begins and ends it, no text is empty, and each call of the
// model is followed by its result, or by a note if there is none. A result without a call becomes text.
type conversation struct {
	turn   *turn
	system []string
	sides  []side
	// calls are the calls that the next side has to answer, in order.
	calls []openCall
	// used are the ids of calls on the wire, which must differ.
	used map[string]bool
	// later is what the user says after the results.
	later []sidePart
}

type openCall struct {
	asked  string // The id that the history has.
	result sideResult
	done   bool
}

// sides returns the instructions and the sides of a request.
func (t *turn) sides() (system []string, sides []side) {
	c := conversation{turn: t, used: map[string]bool{}}
	for _, m := range t.messages() {
		c.add(m)
	}
	c.settle()
	if len(c.sides) == 0 || c.sides[0].model {
		c.sides = slices.Insert(c.sides, 0, side{parts: []sidePart{{text: noBegin}}})
	}
	if len(t.paused) > 0 {
		c.say(true, rawParts(t.paused)...)
	} else if c.sides[len(c.sides)-1].model {
		c.say(false, sidePart{text: goOn})
	}
	return c.system, c.sides
}

func (c *conversation) add(m Message) {
	switch m.Role {
	case RoleSystem:
		if len(c.sides) == 0 && len(c.later) == 0 {
			if text := m.Text(); strings.TrimSpace(text) != "" {
				c.system = append(c.system, text)
			}
			return
		}
		c.later = append(c.later, partsOf(m)...)
	case RoleAssistant:
		c.settle()
		c.assistant(m)
	case RoleTool:
		c.result(m)
	default:
		c.later = append(c.later, partsOf(m)...)
	}
}

// assistant adds a turn of the model: in its native form if this model has written it, else as text and calls.
func (c *conversation) assistant(m Message) {
	items := c.turn.cfg.returned(c.turn.shape.dialect, m.Carry)
	own := itemForms[c.turn.shape.dialect].calls(items)
	if len(items) > 0 && len(own) == len(m.Calls) {
		for i, call := range m.Calls {
			c.used[own[i]] = true
			c.calls = append(c.calls, openCall{asked: call.ID, result: sideResult{id: own[i], own: true, name: call.Name}})
		}
		c.say(true, rawParts(items)...)
		return
	}
	parts := partsOf(m)
	for _, call := range m.Calls {
		id := c.unused(call.ID)
		c.calls = append(c.calls, openCall{asked: call.ID, result: sideResult{id: id, name: call.Name}})
		parts = append(parts, sidePart{call: &Call{ID: id, Name: call.Name, Args: call.Args}})
	}
	c.say(true, parts...)
}

// result attaches m to the call that it answers. If no such call is open, its text is added as a message.
func (c *conversation) result(m Message) {
	for i := range c.calls {
		if open := &c.calls[i]; open.asked == m.CallID && !open.done {
			open.done, open.result.text = true, m.Text()
			return
		}
	}
	if text := m.Text(); strings.TrimSpace(text) != "" {
		c.later = append(c.later, sidePart{text: lateResult + text})
	}
}

// settle ends a side of the user: the results in the order of the calls, then the rest.
func (c *conversation) settle() {
	var parts []sidePart
	for i := range c.calls {
		result := c.calls[i].result
		if !c.calls[i].done {
			result.text, result.missing = noResult, true
		}
		parts = append(parts, sidePart{result: &result})
	}
	parts = append(parts, c.later...)
	c.calls, c.later = nil, nil
	c.say(false, parts...)
}

// say adds parts to the last side, or begins another.
func (c *conversation) say(model bool, parts ...sidePart) {
	if len(parts) == 0 {
		return
	}
	if last := len(c.sides) - 1; last >= 0 && c.sides[last].model == model {
		c.sides[last].parts = append(c.sides[last].parts, parts...)
		return
	}
	c.sides = append(c.sides, side{model: model, parts: parts})
}

// partsOf returns the texts and images of a message, without empty ones.
func partsOf(m Message) (parts []sidePart) {
	for i := range m.Parts {
		switch part := &m.Parts[i]; {
		case part.ImageURL != "":
			parts = append(parts, sidePart{image: part})
		case strings.TrimSpace(part.Text) != "":
			parts = append(parts, sidePart{text: part.Text})
		}
	}
	return parts
}

func rawParts(items []json.RawMessage) []sidePart {
	parts := make([]sidePart, len(items))
	for i, raw := range items {
		parts[i] = sidePart{raw: raw}
	}
	return parts
}

// unused returns an id for a call in the characters that providers allow, different from all others in the conversation.
func (c *conversation) unused(id string) string {
	made := []byte(id)
	for i, b := range made {
		if b != '-' && !isWordByte(b) {
			made[i] = '_'
		}
	}
	if len(made) > maxCallID {
		made = made[:maxCallID]
	}
	name := string(made)
	if name == "" {
		name = "call"
	}
	for n := 2; c.used[name]; n++ {
		name = string(made) + "_" + strconv.Itoa(n)
	}
	c.used[name] = true
	return name
}

// maxCallID is the maximum length of a call's id on the wire, in bytes, before a number that makes it unique.
const maxCallID = 56

// inlined returns the media type and the base64 text of an image inside its address.
func (p *Part) inlined() (media, data string, ok bool) {
	rest, ok := strings.CutPrefix(p.ImageURL, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	media, _, _ = strings.Cut(head, ";")
	if media == "" {
		media = "image/png"
	}
	return media, data, ok && strings.HasSuffix(head, ";base64")
}
