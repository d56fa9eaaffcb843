package openai

import (
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// ReadResponse converts a request for a response to one for a chat completion. Errors: a fault that names what these models do not
// accept.
func ReadResponse(r *verb.ResponseRequest) (*verb.ChatRequest, error) {
	chat := &verb.ChatRequest{Model: r.Model, Stream: r.Stream, User: r.User, Metadata: r.Metadata, Tools: r.Tools}
	var form struct {
		Format json.RawMessage `json:"format"`
	}
	_ = json.Unmarshal(r.Text, &form) // An unreadable format asks for nothing.
	chat.ResponseFormat = form.Format
	if r.Background {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "background", Message: "responses are not kept for later", Hint: "leave it out, or use POST /api/v1/jobs, whose jobs always run in the background"}
	}
	if r.Instructions != "" {
		chat.Messages = append(chat.Messages, verb.ChatMessage{Role: system, Content: quoted(r.Instructions)})
	}
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		chat.Messages = append(chat.Messages, verb.ChatMessage{Role: user, Content: quoted(text)})
		return chat, nil
	}
	var items []struct {
		verb.ChatMessage
		Type string `json:"type"`
	}
	if err := json.Unmarshal(r.Input, &items); err != nil {
		return nil, &events.Fault{Code: events.CodeMalformed, Field: "input", Message: "it is neither a text nor a list of messages", Cause: err.Error(), Hint: `send "input": "…"`}
	}
	for at := range items {
		switch items[at].Type {
		case "", "message":
			chat.Messages = append(chat.Messages, items[at].ChatMessage)
		case "reasoning":
		default:
			return nil, &events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("input[%d].type", at), Message: fmt.Sprintf("an item of the type %.40q cannot be read", items[at].Type), Hint: "send messages: the models here call their tools themselves"}
		}
	}
	return chat, nil
}

// Conversing returns the id in the field conversation, a text or {"id":…}; "" if there is none.
func Conversing(field json.RawMessage) string {
	var c struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(field, &c.ID) != nil {
		_ = json.Unmarshal(field, &c) // An unreadable field names no conversation.
	}
	return c.ID
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // Strings can always be encoded.
	return raw
}
