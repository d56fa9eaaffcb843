package conversation

import "encoding/json"

// Role says who speaks in a message.
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

// Message is one part of the conversation. A journal keeps the first ones.
type Message struct {
	// Role says who speaks, Text what is said.
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are the tools an assistant asked for; CallID names the call that a message of Tool answers.
	Calls  []Call `json:"calls,omitempty"`
	CallID string `json:"call_id,omitempty"`
	// Carry is what the provider wants back unread with an assistant's turn.
	Carry json.RawMessage `json:"carry,omitempty"`
	// voice is who of a mode has said it, or called the tool.
	voice int
	// full is how long the text of a tool was before it was compressed, 0 while it is whole.
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
