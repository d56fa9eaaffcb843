package llm

import (
	"encoding/json"
	"strings"
)

// Role says who speaks in a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Part is a piece of a message: a text, or an image by its address.
type Part struct {
	// Text is the text, when it is one.
	Text string `json:"text,omitempty"`
	// ImageURL is the address of an image, which may be a data: URL.
	ImageURL string `json:"image_url,omitempty"`
	// Detail is how closely the image is looked at: "low", "high" or "auto".
	Detail string `json:"detail,omitempty"`
}

// Call is a tool that the model wants to be called.
type Call struct {
	// ID connects the call with its result. It is never empty in a Response.
	ID string `json:"id"`
	// Name is the tool's name.
	Name string `json:"name"`
	// Args are the arguments as the model wrote them: mostly a JSON object, but nothing promises that.
	Args string `json:"args"`
}

// Message is one turn of a conversation.
type Message struct {
	// Role says who speaks.
	Role Role `json:"role"`
	// Parts are what is said, in order.
	Parts []Part `json:"parts,omitempty"`
	// Calls are the tools an assistant asked for.
	Calls []Call `json:"calls,omitempty"`
	// CallID names the call that a message of RoleTool answers.
	CallID string `json:"call_id,omitempty"`
	// Carry is what the provider wants back unread with an assistant's turn: Response.Carry of that turn.
	Carry json.RawMessage `json:"carry,omitempty"`
}

// System is a message of instructions.
func System(text string) Message { return Message{Role: RoleSystem, Parts: []Part{{Text: text}}} }

// User is a message of the one who asks.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{{Text: text}}} }

// Assistant is an earlier turn of the model.
func Assistant(text string, calls ...Call) Message {
	m := Message{Role: RoleAssistant, Calls: calls}
	if text != "" {
		m.Parts = []Part{{Text: text}}
	}
	return m
}

// Result answers a call of the model.
func Result(callID, text string) Message {
	return Message{Role: RoleTool, CallID: callID, Parts: []Part{{Text: text}}}
}

// Text is all that a message says in words.
func (m Message) Text() string {
	var all strings.Builder
	for _, part := range m.Parts {
		all.WriteString(part.Text)
	}
	return all.String()
}

// images reports whether the message shows anything.
func (m Message) images() bool {
	for _, part := range m.Parts {
		if part.ImageURL != "" {
			return true
		}
	}
	return false
}

// spoken leaves out what must never go back into a history: an assistant's turn that says nothing and calls nothing.
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
