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

// chat sends a request to /chat/completions.
func (t *turn) chat(ctx context.Context, x *exchange, sdk *openai.Client, a *answer) error {
	request := t.chatRequest()
	if !t.request.Stream {
		answer, err := sdk.CreateChatCompletion(ctx, request)
		if err == nil {
			a.takeCompletion(answer)
		}
		return err
	}
	stream, err := sdk.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		chunk, err := x.events.chunk()
		if errors.Is(err, io.EOF) {
			a.over, a.done = true, x.events.done
			return nil
		}
		if err != nil {
			return err
		}
		a.takeChunk(chunk)
		if fail := a.tooLarge(); fail != nil {
			return fail
		}
	}
}

// chatRequest builds what the SDK can express; the rest is in turn.fields.
func (t *turn) chatRequest() openai.ChatCompletionRequest {
	request := openai.ChatCompletionRequest{
		Model:    t.cfg.Model,
		Messages: make([]openai.ChatCompletionMessage, 0, len(t.request.Messages)+1),
		Stop:     t.request.Stop,
		Stream:   t.request.Stream,
	}
	for _, m := range t.messages() {
		request.Messages = append(request.Messages, chatTurn(m))
	}
	if t.request.Stream && !t.shape.drops("stream_options") {
		request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	for _, tool := range t.tools() {
		request.Tools = append(request.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: tool.Name, Description: tool.Description, Strict: tool.Strict, Parameters: tool.parameters(),
		}})
	}
	switch choice := t.toolChoice(); choice {
	case "":
	case ToolAuto, ToolNone, ToolRequired:
		request.ToolChoice = choice
	default:
		request.ToolChoice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: choice}}
	}
	switch t.rung() {
	case RungSchema:
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: t.request.Schema.Name, Schema: t.request.Schema.Schema, Strict: true,
			},
		}
	case RungObject:
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return request
}

func chatTurn(m Message) openai.ChatCompletionMessage {
	turn := openai.ChatCompletionMessage{Role: string(m.Role), ToolCallID: m.CallID}
	if m.images() {
		for _, part := range m.Parts {
			turn.MultiContent = append(turn.MultiContent, chatPart(part))
		}
	} else {
		turn.Content = m.Text()
	}
	for _, call := range m.Calls {
		turn.ToolCalls = append(turn.ToolCalls, openai.ToolCall{
			ID: call.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: cmp.Or(strings.TrimSpace(call.Args), "{}")},
		})
	}
	return turn
}

func chatPart(part Part) openai.ChatMessagePart {
	if part.ImageURL == "" {
		return openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: part.Text}
	}
	return openai.ChatMessagePart{
		Type:     openai.ChatMessagePartTypeImageURL,
		ImageURL: &openai.ChatMessageImageURL{URL: part.ImageURL, Detail: openai.ImageURLDetail(part.Detail)},
	}
}

// parameters returns the schema of a tool's arguments; a tool without one takes an empty object.
func (t Tool) parameters() json.RawMessage {
	if t.Parameters == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// takeCompletion reads the first choice of a complete answer.
func (a *answer) takeCompletion(c openai.ChatCompletionResponse) {
	a.id, a.model, a.used = c.ID, c.Model, chatUsed(&c.Usage)
	choice := c.Choices[0]
	a.muse(choice.Message.ReasoningContent)
	a.say(choice.Message.Content)
	a.decline(choice.Message.Refusal)
	for i, call := range choice.Message.ToolCalls {
		a.call(callPiece{&i, call.ID, call.Function.Name, call.Function.Arguments})
	}
	a.ended = string(choice.FinishReason)
	if a.ended == "" {
		a.ended = string(FinishStop) // The whole body has arrived; some servers omit the reason.
	}
}

// takeChunk reads one chunk of a stream.
func (a *answer) takeChunk(c *chatBody) {
	a.id, a.model = cmp.Or(a.id, string(c.ID)), cmp.Or(a.model, string(c.Model))
	if c.Usage != nil && c.Usage.PromptTokens+c.Usage.CompletionTokens > 0 {
		a.used = c.Usage.used()
		a.summed = len(c.Choices) == 0
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		if d := choice.Delta; d != nil {
			a.summed = false
			a.muse(string(d.ReasoningContent))
			a.say(d.Content.said())
			a.decline(string(d.Refusal))
			for _, call := range d.ToolCalls {
				a.call(callPiece{call.Index, string(call.ID), string(call.Function.Name), string(call.Function.Arguments)})
			}
		}
		if choice.FinishReason != nil {
			a.ended = cmp.Or(string(*choice.FinishReason), a.ended)
		}
	}
}

// used returns the token counts of a completion.
func (u *chatUsage) used() Usage {
	used := Usage{Prompt: int(u.PromptTokens), Completion: int(u.CompletionTokens)}
	if u.PromptDetails != nil {
		used.Cached = int(u.PromptDetails.CachedTokens)
	}
	if u.AnswerDetails != nil {
		used.Reasoning = int(u.AnswerDetails.ReasoningTokens)
	}
	return used
}

func chatUsed(u *openai.Usage) Usage {
	used := Usage{Prompt: u.PromptTokens, Completion: u.CompletionTokens}
	if u.PromptTokensDetails != nil {
		used.Cached = u.PromptTokensDetails.CachedTokens
	}
	if u.CompletionTokensDetails != nil {
		used.Reasoning = u.CompletionTokensDetails.ReasoningTokens
	}
	return used
}
