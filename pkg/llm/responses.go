package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// responses sends a request to /responses.
func (t *turn) responses(ctx context.Context, x *exchange, sdk *openai.Client, a *answer) error {
	request := t.responsesRequest()
	if !t.request.Stream {
		answer, err := sdk.CreateResponse(ctx, request)
		if err == nil {
			err = a.takeResponse(answer, true)
		}
		return err
	}
	stream, err := sdk.CreateResponseStream(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	var heard listener
	for {
		event, err := x.events.event()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := heard.take(event, a); err != nil {
			return err
		}
		if fail := a.tooLarge(); fail != nil {
			return fail
		}
	}
}

// responsesRequest builds what the SDK can express; the rest is in turn.fields. The provider stores nothing, so reasoning arrives
// encrypted and is sent back with the turn.
func (t *turn) responsesRequest() openai.CreateResponseRequest {
	request := openai.CreateResponseRequest{Model: t.cfg.Model, Store: new(bool)}
	input := []any{}
	for _, m := range t.messages() {
		input = append(input, t.responsesTurn(m)...)
	}
	request.Input = input
	for _, tool := range t.tools() {
		made := openai.NewResponseFunctionTool(openai.FunctionDefinition{
			Name: tool.Name, Description: tool.Description, Parameters: tool.parameters(),
		})
		made.Parameters["strict"] = tool.Strict // The default would be true.
		request.Tools = append(request.Tools, made)
	}
	switch choice := t.toolChoice(); choice {
	case "":
	case ToolAuto, ToolNone, ToolRequired:
		request.ToolChoice = choice
	default:
		request.ToolChoice = map[string]string{"type": "function", "name": choice}
	}
	switch t.rung() {
	case RungSchema:
		request.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{
			Type: "json_schema", Name: t.request.Schema.Name, Schema: t.request.Schema.Schema, Strict: true,
		}}
	case RungObject:
		request.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{Type: "json_object"}}
	}
	return request
}

// responsesTurn converts a message to items: its original items, or its text and calls, or the result of a call.
func (t *turn) responsesTurn(m Message) []any {
	if m.Role == RoleTool {
		return []any{openai.ResponseFunctionCallOutput{Type: "function_call_output", CallID: m.CallID, Output: m.Text()}}
	}
	var items []any
	for _, item := range t.cfg.returned(t.shape.dialect, m.Carry) {
		items = append(items, item)
	}
	if items != nil {
		return items
	}
	var content []any
	for _, part := range m.Parts {
		switch {
		case part.ImageURL != "":
			content = append(content, openai.ResponseInputImage{Type: "input_image", ImageURL: part.ImageURL, Detail: cmp.Or(part.Detail, "auto")})
		case m.Role == RoleAssistant:
			content = append(content, openai.ResponseInputText{Type: "output_text", Text: part.Text})
		default:
			content = append(content, openai.ResponseInputText{Type: "input_text", Text: part.Text})
		}
	}
	if content != nil {
		items = append(items, openai.ResponseInputMessage{Type: "message", Role: string(m.Role), Content: content})
	}
	for _, call := range m.Calls {
		items = append(items, map[string]string{
			"type": "function_call", "call_id": call.ID, "name": call.Name,
			"arguments": cmp.Or(strings.TrimSpace(call.Args), "{}"),
		})
	}
	return items
}

// takeResponse reads how an answer ended and, if it comes whole, its content.
func (a *answer) takeResponse(r openai.CreateResponseResponse, whole bool) error {
	a.id, a.model = r.ID, r.Model
	if r.Usage != nil {
		a.used = Usage{Prompt: r.Usage.InputTokens, Completion: r.Usage.OutputTokens}
		if r.Usage.InputTokensDetails != nil {
			a.used.Cached = r.Usage.InputTokensDetails.CachedTokens
		}
		if r.Usage.OutputTokensDetails != nil {
			a.used.Reasoning = r.Usage.OutputTokensDetails.ReasoningTokens
		}
	}
	a.ended = cmp.Or(string(r.Status), string(openai.ResponseStatusCompleted))
	if r.Status == openai.ResponseStatusIncomplete && r.IncompleteDetails != nil {
		a.ended = cmp.Or(r.IncompleteDetails.Reason, "length")
	}
	if !whole {
		return nil
	}
	for _, raw := range r.Output {
		item, err := asItem(raw)
		if err != nil {
			return err
		}
		a.takeItem(item)
	}
	return nil
}

func asItem(raw any) (item openai.ResponseOutputItem, err error) {
	data, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(data, &item)
	}
	return item, err
}

// takeItem reads an item of an output.
func (a *answer) takeItem(item openai.ResponseOutputItem) {
	switch item.Type {
	case "reasoning":
		for _, part := range item.Summary {
			a.muse(part.Text)
		}
		for _, part := range item.Content {
			a.muse(part.Text)
		}
	case "message":
		for _, part := range item.Content {
			a.say(part.Text)
			a.decline(part.Refusal)
		}
	case "function_call":
		n := len(a.calls.calls)
		a.call(callPiece{&n, cmp.Or(item.CallID, item.ID), item.Name, item.Arguments})
	}
}

// listener follows a stream of the Responses API: texts come as deltas or, from servers that send none, with their item or
// with the end.
type listener struct {
	// said, thought and refused are set by deltas, items by whole items: then the content of the end event is ignored.
	said, thought, refused, items bool
}

func (l *listener) take(event *responsesEvent, a *answer) error {
	switch openai.ResponseStreamEventType(event.Type) {
	case openai.ResponseStreamEventOutputTextDelta:
		l.said = true
		a.say(string(event.Delta))
	case openai.ResponseStreamEventRefusalDelta:
		l.refused = true
		a.decline(string(event.Delta))
	case openai.ResponseStreamEventReasoningTextDelta, openai.ResponseStreamEventReasoningSummaryTextDelta:
		l.thought = true
		a.muse(string(event.Delta))
	case openai.ResponseStreamEventOutputItemDone:
		l.items = true
		if event.Item != nil {
			item, err := asItem(event.Item)
			if err != nil {
				return err
			}
			a.takeItem(l.rest(item))
		}
	case openai.ResponseStreamEventCompleted, openai.ResponseStreamEventIncomplete, openai.ResponseStreamEventFailed:
		return l.end(event, a)
	}
	return nil
}

// end reads the last event. If the response has no status, the event's type determines it.
func (l *listener) end(event *responsesEvent, a *answer) error {
	last, err := event.Response.answer()
	if err != nil {
		return err
	}
	last.Status = cmp.Or(last.Status, openai.ResponseStatus(strings.TrimPrefix(event.Type, "response.")))
	if l.items {
		return a.takeResponse(last, false)
	}
	for i, raw := range last.Output {
		item, err := asItem(raw)
		if err != nil {
			return err
		}
		last.Output[i] = l.rest(item)
	}
	return a.takeResponse(last, true)
}

// rest returns an item without what its deltas contained.
func (l *listener) rest(item openai.ResponseOutputItem) openai.ResponseOutputItem {
	switch item.Type {
	case "reasoning":
		if l.thought {
			item.Summary, item.Content = nil, nil
		}
	case "message":
		for i := range item.Content {
			if l.said {
				item.Content[i].Text = ""
			}
			if l.refused {
				item.Content[i].Refusal = ""
			}
		}
	}
	return item
}
