package conversation

import "encoding/json"

// Role is the sender of a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Call is a tool that the model wants to be called.
type Call struct {
	// ID connects the call with its result.
	ID string `json:"id"`
	// Name is the tool's name, Args its arguments as the model wrote them.
	Name string `json:"name"`
	Args string `json:"args"`
}

// Message is one part of the conversation. A journal stores the first ones.
type Message struct {
	// Role is the sender, Text the content.
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are the tools that an assistant requested; CallID names the call that a message of Tool answers.
	Calls  []Call `json:"calls,omitempty"`
	CallID string `json:"call_id,omitempty"`
	// Carry is what the provider wants back, unread, with an assistant's turn.
	Carry json.RawMessage `json:"carry,omitempty"`
	// voice is the role of a mode that has sent it, or called the tool.
	voice int
	// full is the length of a tool's text before it was compressed, 0 if it was not.
	full int
}

// weight guesses the tokens of a message: four bytes make one.
func (m *Message) weight() int {
	bytes := len(m.Text) + len(m.Carry) + 16
	for i := range m.Calls {
		bytes += len(m.Calls[i].Name) + len(m.Calls[i].Args)
	}
	return bytes / 4
}
