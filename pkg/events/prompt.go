package events

import (
	"strconv"
	"strings"
)

// Prompt is what a planning run asked a model. It is the data of the intent of that call in the journal, if the job's request
// has Debug.
type Prompt struct {
	// Role selected the model; Schema is the name of the schema that the answer had to fit, if any.
	Role   string `json:"role"`
	Schema string `json:"schema,omitempty"`
	// Messages are what the model was given, in order.
	Messages []Asked `json:"messages"`
}

// Asked is one message of a Prompt.
type Asked struct {
	Role      string `json:"role"`                // Role is "system", "user" or "assistant".
	Text      string `json:"text"`                // Text is the message, as far as it was kept.
	Truncated int    `json:"truncated,omitempty"` // Truncated is how many bytes of Text were left out at its end.
}

// String returns the prompt for people.
func (p *Prompt) String() string {
	var b strings.Builder
	for i, m := range p.Messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("[" + m.Role + "]\n" + strings.TrimSuffix(m.Text, "\n"))
		if m.Truncated > 0 {
			b.WriteString("\n… " + strconv.Itoa(m.Truncated) + " more bytes")
		}
	}
	return b.String()
}
