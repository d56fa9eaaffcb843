package llm

import (
	"encoding/json"

	openai "github.com/sashabaranov/go-openai"
)

// responsesBody is an answer of the Responses API.
type responsesBody struct {
	ID      word            `json:"id,omitempty"`
	Model   word            `json:"model,omitempty"`
	Status  word            `json:"status,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	Details *struct {
		Reason word `json:"reason"`
	} `json:"incomplete_details,omitempty"`
	Output []json.RawMessage `json:"output"`
	Usage  *responsesUsage   `json:"usage,omitempty"`
}

type responsesUsage struct {
	InputTokens   count        `json:"input_tokens"`
	InputDetails  *chatDetails `json:"input_tokens_details,omitempty"`
	OutputTokens  count        `json:"output_tokens"`
	OutputDetails *chatDetails `json:"output_tokens_details,omitempty"`
	TotalTokens   count        `json:"total_tokens"`
	Cost          money        `json:"cost"`
}

// responsesItem is the part of an output item that is used.
type responsesItem struct {
	ID        word             `json:"id,omitempty"`
	Type      word             `json:"type"`
	Status    word             `json:"status,omitempty"`
	Role      word             `json:"role,omitempty"`
	Content   []responsesPiece `json:"content,omitempty"`
	Summary   []responsesPiece `json:"summary,omitempty"`
	CallID    word             `json:"call_id,omitempty"`
	Name      word             `json:"name,omitempty"`
	Arguments arguments        `json:"arguments,omitempty"`
}

type responsesPiece struct {
	Type    word  `json:"type"`
	Text    loose `json:"text,omitempty"`
	Refusal loose `json:"refusal,omitempty"`
}

// responsesEvent is one event of a stream.
type responsesEvent struct {
	Type     string          `json:"type"`
	Response *responsesBody  `json:"response,omitempty"`
	Item     json.RawMessage `json:"item,omitempty"`
	Delta    loose           `json:"delta,omitempty"`
	Code     word            `json:"code,omitempty"`
	Message  word            `json:"message,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
	// raw is the item as received.
	raw json.RawMessage
}

// readResponses parses an answer and separates an error inside it.
func readResponses(data []byte) (body responsesBody, inside json.RawMessage, err error) {
	if err := json.Unmarshal(data, &body); err != nil {
		return body, nil, err
	}
	return body.plain()
}

func (b responsesBody) plain() (responsesBody, json.RawMessage, error) {
	inside := present(b.Error)
	b.Error = nil
	for i, raw := range b.Output {
		b.Output[i] = plainItem(raw)
	}
	return b, inside, nil
}

// plainItem converts an item to the form that the SDK can read. An unknown item keeps only its type; the exchange keeps
// what the provider wants back.
func plainItem(raw json.RawMessage) json.RawMessage {
	var item responsesItem
	if json.Unmarshal(raw, &item) != nil {
		item = responsesItem{Type: "unknown"}
	}
	plain, err := json.Marshal(item)
	if err != nil {
		return json.RawMessage(`{"type":"unknown"}`)
	}
	return plain
}

// readResponsesEvent parses one event of a stream. Events that are not needed have an empty type.
func readResponsesEvent(data []byte) (event responsesEvent, inside json.RawMessage, err error) {
	event, quick := scanResponses(data)
	if !quick {
		event = responsesEvent{}
		if err := json.Unmarshal(data, &event); err != nil {
			return event, nil, err
		}
	}
	inside = present(event.Error)
	event.Error = nil
	switch event.Type {
	case "error":
		if inside == nil {
			inside, err = json.Marshal(map[string]string{"code": string(event.Code), "message": string(event.Message)})
		}
	case "response.completed", "response.incomplete", "response.failed":
		if event.Response == nil {
			event.Response = &responsesBody{}
		}
		plain, at, _ := event.Response.plain()
		event.Response = &plain
		if at != nil {
			inside = at
		}
	case "response.output_item.added", "response.output_item.done":
		event.raw, event.Item = event.Item, plainItem(event.Item)
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_text.delta",
		"response.reasoning_summary_text.delta":
	default:
		event = responsesEvent{}
	}
	return event, inside, err
}

// answer converts a plain answer to the SDK's type.
func (b *responsesBody) answer() (made openai.CreateResponseResponse, err error) {
	data, err := json.Marshal(b)
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	return made, err
}

// asEvent converts a complete answer to the final event of an equivalent stream.
func (b responsesBody) asEvent() responsesEvent {
	kind := "response.completed"
	if b.Status == "incomplete" || b.Status == "failed" {
		kind = "response." + string(b.Status)
	}
	return responsesEvent{Type: kind, Response: &b}
}
