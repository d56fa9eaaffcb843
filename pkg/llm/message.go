package llm

import (
	"encoding/json"
	"strings"
)

// Role is the speaker of a message.
type Role string

// The speakers of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Part is a piece of a message: a text, or an image by its address.
type Part struct {
	// Text is the text, if the part is one.
	Text string `json:"text,omitempty"`
	// ImageURL is the address of an image, which may be a data: URL.
	ImageURL string `json:"image_url,omitempty"`
	// Detail is the resolution at which the model looks at the image: "low", "high" or "auto".
	Detail string `json:"detail,omitempty"`
}

// Call is the model's request to call a tool.
type Call struct {
	// ID connects the call with its result. It is never empty in a Response.
	ID string `json:"id"`
	// Name is the tool's name.
	Name string `json:"name"`
	// Args are the arguments as the model wrote them, usually a JSON object.
	Args string `json:"args"`
}

// Message is one turn of a conversation.
type Message struct {
	// Role is the speaker of the message.
	Role Role `json:"role"`
	// Parts are the contents, in order.
	Parts []Part `json:"parts,omitempty"`
	// Calls are the calls that an assistant requested.
	Calls []Call `json:"calls,omitempty"`
	// CallID names the call that a message of RoleTool answers.
	CallID string `json:"call_id,omitempty"`
	// Carry is Response.Carry of an assistant's turn, which the provider wants back unchanged.
	Carry json.RawMessage `json:"carry,omitempty"`
}

// System returns a message of instructions.
func System(text string) Message { return Message{Role: RoleSystem, Parts: []Part{{Text: text}}} }

// User returns a message of the user.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{{Text: text}}} }

// Assistant returns an earlier turn of the model.
func Assistant(text string, calls ...Call) Message {
	m := Message{Role: RoleAssistant, Calls: calls}
	if text != "" {
		m.Parts = []Part{{Text: text}}
	}
	return m
}

// Result returns the answer to a call of the model.
func Result(callID, text string) Message {
	return Message{Role: RoleTool, CallID: callID, Parts: []Part{{Text: text}}}
}

// Text returns all texts of a message.
func (m Message) Text() string {
	var all strings.Builder
	for _, part := range m.Parts {
		all.WriteString(part.Text)
	}
	return all.String()
}

// images reports whether the message contains an image.
func (m Message) images() bool {
	for _, part := range m.Parts {
		if part.ImageURL != "" {
			return true
		}
	}
	return false
}

// spoken removes what must never go back into a history: assistant turns without text and calls.
func spoken(messages []Message) []Message {
	kept := make([]Message, 0, len(messages))
	for _, m := range messages {
		if m.Role == RoleAssistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text()) == "" && !m.images() {
			continue
		}
		kept = append(kept, m)
	}
	return kept
}
