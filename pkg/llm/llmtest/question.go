package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// Turn is one message of a question, in one form for all APIs.
type Turn struct {
	// Role is system, user, assistant or tool.
	Role string
	// Text is the text of the message.
	Text string
	// Calls names the tools that an assistant called.
	Calls []string
	// CallID names the call that a tool's result answers.
	CallID string
}

// Question is a request to the model.
type Question struct {
	// N is the number of the question at its server, from 1.
	N int
	// Path is the endpoint: "/chat/completions", "/responses", "/messages" or "/generateContent".
	Path string
	// Model is the requested name.
	Model string
	// Stream is true if the answer is wanted as a stream.
	Stream bool
	// Turns is the conversation so far.
	Turns []Turn
	// Tools maps each tool to the schema of its arguments.
	Tools map[string]json.RawMessage
	// ToolChoice is auto, none, required or a tool's name; "" if not given.
	ToolChoice string
	// Form is json_schema or json_object if structured output is requested; Schema is its schema.
	Form   string
	Schema json.RawMessage
	// Wrong is why the provider would reject the request, "" if it would not.
	Wrong string
	// Header is the request's header, including its key.
	Header http.Header
	// Body is the request as received.
	Body json.RawMessage
}

// Last returns the text of the last turn of a role, or "".
func (q Question) Last(role string) string {
	for i := len(q.Turns) - 1; i >= 0; i-- {
		if q.Turns[i].Role == role {
			return q.Turns[i].Text
		}
	}
	return ""
}

// All returns all texts, one turn per line.
func (q Question) All() string {
	texts := make([]string, len(q.Turns))
	for i, turn := range q.Turns {
		texts[i] = turn.Text
	}
	return strings.Join(texts, "\n")
}

// asked is the body of a request to either API.
type asked struct {
	Model          string            `json:"model"`
	Stream         bool              `json:"stream"`
	Messages       []json.RawMessage `json:"messages"`
	Input          json.RawMessage   `json:"input"`
	Instructions   string            `json:"instructions"`
	Tools          []askedTool       `json:"tools"`
	ToolChoice     json.RawMessage   `json:"tool_choice"`
	ResponseFormat *askedForm        `json:"response_format"`
	Text           struct {
		Format *askedForm `json:"format"`
	} `json:"text"`
}

type askedTool struct {
	askedFunction
	Function *askedFunction `json:"function"`
}

type askedFunction struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

type askedForm struct {
	Type       string          `json:"type"`
	Schema     json.RawMessage `json:"schema"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type askedTurn struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	ToolID    string          `json:"tool_call_id"`
	Name      string          `json:"name"`
	Output    json.RawMessage `json:"output"`
	ToolCalls []askedTool     `json:"tool_calls"`
}

// readQuestion parses the body of either of OpenAI's APIs.
func readQuestion(path string, header http.Header, body []byte) (Question, error) {
	var a asked
	if err := json.Unmarshal(body, &a); err != nil {
		return Question{}, err
	}
	q := Question{
		Path: path, Model: a.Model, Stream: a.Stream, Header: header.Clone(), Body: bytes.Clone(body),
		Tools: map[string]json.RawMessage{}, ToolChoice: choice(a.ToolChoice),
	}
	for _, tool := range a.Tools {
		if tool.Function != nil {
			tool.askedFunction = *tool.Function
		}
		q.Tools[tool.Name] = tool.Parameters
	}
	for _, form := range []*askedForm{a.ResponseFormat, a.Text.Format} {
		if form != nil && form.Type != "text" {
			q.Form, q.Schema = form.Type, form.Schema
			if form.JSONSchema.Schema != nil {
				q.Schema = form.JSONSchema.Schema
			}
		}
	}
	if a.Instructions != "" {
		q.Turns = append(q.Turns, Turn{Role: "system", Text: a.Instructions})
	}
	items := a.Messages
	if items == nil && json.Unmarshal(a.Input, &items) != nil {
		q.Turns = append(q.Turns, Turn{Role: "user", Text: text(a.Input)})
	}
	for _, raw := range items {
		q.Turns = append(q.Turns, readTurn(raw))
	}
	return q, nil
}

func readTurn(raw json.RawMessage) Turn {
	var t askedTurn
	if err := json.Unmarshal(raw, &t); err != nil {
		return Turn{}
	}
	switch t.Type {
	case "function_call":
		return Turn{Role: "assistant", Calls: []string{t.Name}}
	case "function_call_output":
		return Turn{Role: "tool", CallID: t.CallID, Text: text(t.Output)}
	}
	turn := Turn{Role: t.Role, CallID: t.ToolID, Text: text(t.Content)}
	for _, call := range t.ToolCalls {
		if call.Function != nil {
			turn.Calls = append(turn.Calls, call.Function.Name)
		}
	}
	return turn
}

// text returns a string, or the texts of a list of parts.
func text(raw json.RawMessage) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, part := range parts {
		plain += part.Text
	}
	return plain
}

// choice returns a string, or the name inside an object.
func choice(raw json.RawMessage) string {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return word
	}
	var named askedTool
	if json.Unmarshal(raw, &named) != nil {
		return ""
	}
	if named.Function != nil {
		return named.Function.Name
	}
	return named.Name
}
