package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// The roles of messages. Developer is the newer name of system.
const (
	system    = "system"
	developer = "developer"
	user      = "user"
	assistant = "assistant"
)

// Message is a message of a person or of the assistant.
type Message struct{ Role, Text string }

// Conversation is a request for the next message.
type Conversation struct {
	// Instructions are the system messages. Past holds the messages of person and assistant before the last one; Last is the
	// person's last message.
	Instructions string
	Past         []Message
	Last         string
}

// Read divides the messages of a request. Errors: a fault that names what these models do not accept.
func Read(r *verb.ChatRequest) (*Conversation, error) {
	if fault := unsupported(r); fault != nil {
		return nil, fault
	}
	c := &Conversation{}
	var instructions []string
	for at := range r.Messages {
		m := &r.Messages[at]
		text, fault := textOf(m, fmt.Sprintf("messages[%d]", at))
		if fault != nil {
			return nil, fault
		}
		switch m.Role {
		case system, developer:
			instructions = append(instructions, text)
		case user, assistant:
			c.Past = append(c.Past, Message{m.Role, text})
		default:
			return nil, &events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("messages[%d].role", at), Message: fmt.Sprintf("a message of the role %.40q cannot be read", m.Role), Hint: "use system, user and assistant: the models here call their tools themselves"}
		}
	}
	c.Instructions = strings.TrimSpace(strings.Join(instructions, "\n\n"))
	if last := len(c.Past) - 1; last >= 0 && c.Past[last].Role == user {
		c.Past, c.Last = c.Past[:last], strings.TrimSpace(c.Past[last].Text)
	}
	if c.Last == "" {
		return nil, &events.Fault{Code: events.CodeMissing, Field: "messages", Message: "the last message is not one of a user", Hint: `end with {"role":"user","content":"…"}`}
	}
	return c, nil
}

// unsupported refuses fields that would change an answer but would be ignored.
func unsupported(r *verb.ChatRequest) *events.Fault {
	no := func(field, message, hint string) *events.Fault {
		return &events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint}
	}
	var format struct{ Type string }
	_ = json.Unmarshal(r.ResponseFormat, &format) // An unreadable format asks for nothing.
	switch {
	case r.Model == "":
		return &events.Fault{Code: events.CodeMissing, Field: "model", Message: "no model is named", Hint: "GET /v1/models lists them"}
	case r.N != nil && *r.N != 1:
		return no("n", fmt.Sprintf("%d answers cannot be asked for at once", *r.N), "leave n out, or send the request again")
	case len(r.Tools) > 0:
		return no("tools", "the models here bring their own tools", "leave tools out; an expert's card names its tools")
	case len(r.Functions) > 0:
		return no("functions", "the models here bring their own tools", "leave functions out; an expert's card names its tools")
	case format.Type != "" && format.Type != "text":
		return no("response_format", "the form of an answer cannot be chosen here", "leave it out; an expert's output_schema gives its results a form")
	}
	return nil
}

// textOf returns the text of a message, which may come in parts.
func textOf(m *verb.ChatMessage, field string) (string, *events.Fault) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return m.Refusal, nil
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", &events.Fault{Code: events.CodeMalformed, Field: field + ".content", Message: "it is neither a text nor a list of parts", Cause: err.Error(), Hint: `send "content": "…"`}
	}
	var b strings.Builder
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			b.WriteString(p.Text)
		case "refusal":
			b.WriteString(p.Refusal)
		default:
			return "", &events.Fault{Code: events.CodeInvalid, Field: field + ".content", Message: fmt.Sprintf("a part of the type %.40q cannot be read", p.Type), Hint: "send texts; files go to a job as attachments, or into a base of knowledge"}
		}
	}
	return b.String(), nil
}

// Context returns what a job that begins a session has to know besides its goal: the instructions, and the newest part of what was
// said before.
func (c *Conversation) Context() string {
	var said []item.Item
	for _, m := range c.Past {
		i := item.Item{Type: item.Message, Text: clip.Marked(m.Text, item.MaxTurn)}
		if m.Role == assistant {
			i.Type = item.Text
		}
		said = append(said, i)
	}
	said = item.Newest(said, item.MaxHistory)
	if len(said) == 0 {
		return c.Instructions
	}
	return strings.TrimSpace(c.Instructions + "\n\n" + item.Before + "\n" + item.Lines(said))
}

// Digest identifies a conversation of an owner by what was said, without the instructions, since clients put dates and the like
// into those. White space around a message does not count, since clients remove it.
func Digest(owner string, said []Message, more ...Message) string {
	h := sha256.New()
	write := func(text string) { h.Write([]byte(strconv.Itoa(len(text)) + ":" + text)) }
	write(owner)
	for _, list := range [][]Message{said, more} {
		for _, m := range list {
			write(m.Role)
			write(strings.TrimSpace(strings.ReplaceAll(m.Text, "\r\n", "\n")))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Asked is the last message, which the job answers.
func (c *Conversation) Asked() Message { return Message{user, c.Last} }

// Answered returns an answer as a message.
func Answered(text string) Message { return Message{assistant, text} }
