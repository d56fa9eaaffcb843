package llm

import (
	"encoding/json"
	"strings"
)

// chatBody is a completion or a chunk of one.
type chatBody struct {
	ID      word            `json:"id,omitempty"`
	Model   word            `json:"model,omitempty"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type chatChoice struct {
	Index        int             `json:"index"`
	Delta        *chatMessage    `json:"delta,omitempty"`
	Message      *chatMessage    `json:"message,omitempty"`
	FinishReason *word           `json:"finish_reason"`
	Error        json.RawMessage `json:"error,omitempty"`
}

type chatMessage struct {
	Role             word          `json:"role,omitempty"`
	Content          *content      `json:"content,omitempty"`
	Refusal          loose         `json:"refusal,omitempty"`
	Reasoning        loose         `json:"reasoning,omitempty"`
	ReasoningContent loose         `json:"reasoning_content,omitempty"`
	ToolCalls        []chatCall    `json:"tool_calls,omitempty"`
	FunctionCall     *chatFunction `json:"function_call,omitempty"`
}

type chatCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       word         `json:"id,omitempty"`
	Type     word         `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      word      `json:"name,omitempty"`
	Arguments arguments `json:"arguments,omitempty"`
}

type chatUsage struct {
	PromptTokens     count        `json:"prompt_tokens"`
	CompletionTokens count        `json:"completion_tokens"`
	TotalTokens      count        `json:"total_tokens"`
	PromptDetails    *chatDetails `json:"prompt_tokens_details,omitempty"`
	AnswerDetails    *chatDetails `json:"completion_tokens_details,omitempty"`
	// CacheHits is another provider's field for cached tokens.
	CacheHits count `json:"prompt_cache_hit_tokens,omitempty"`
	Cost      money `json:"cost"`
}

type chatDetails struct {
	CachedTokens    count `json:"cached_tokens"`
	ReasoningTokens count `json:"reasoning_tokens"`
}

// MarshalJSON leaves out the amount: the SDK has no field for it; the exchange keeps it.
func (money) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// readChat parses a completion or a chunk into its plain form, and separates an error inside it.
func readChat(data []byte) (body chatBody, inside json.RawMessage, err error) {
	body, quick := scanChunk(data)
	if !quick {
		body = chatBody{}
		if err := json.Unmarshal(data, &body); err != nil {
			return body, nil, err
		}
	}
	inside = present(body.Error)
	body.Error = nil
	for i := range body.Choices {
		choice := &body.Choices[i]
		if at := present(choice.Error); at != nil && inside == nil {
			inside = at
		}
		choice.Error = nil
		choice.Delta.plain()
		choice.Message.plain()
	}
	if u := body.Usage; u != nil && u.CacheHits > 0 && u.PromptDetails == nil {
		u.PromptDetails = &chatDetails{CachedTokens: u.CacheHits}
	}
	return body, inside, nil
}

// present returns nil for a value that is absent, null, or an empty error.
func present(raw json.RawMessage) json.RawMessage {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", `""`, "{}", "false":
		return nil
	}
	return raw
}

// plain normalises a message: text as text, thinking in reasoning_content, an old function_call as a call.
func (m *chatMessage) plain() {
	if m == nil {
		return
	}
	if m.ReasoningContent == "" {
		m.ReasoningContent = m.Reasoning
	}
	m.Reasoning = ""
	if m.Content != nil && m.Content.raw != nil {
		m.takeThought(m.Content.raw)
		m.Content.plain()
	}
	if m.FunctionCall != nil && len(m.ToolCalls) == 0 {
		m.ToolCalls = []chatCall{{Function: *m.FunctionCall}}
	}
	m.FunctionCall = nil
	for i := range m.ToolCalls {
		m.ToolCalls[i].Type = "function"
	}
}

// takeThought extracts thinking and refusals from the parts of a content.
func (m *chatMessage) takeThought(raw json.RawMessage) {
	if !strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		return
	}
	for _, part := range looseParts(raw) {
		if part.Type == "thinking" || part.Type == "reasoning" {
			m.ReasoningContent += part.Thinking + part.said()
		}
		m.Refusal += part.Refusal
	}
}

// chunk converts a complete answer to the only chunk of an equivalent stream; a chunk stays unchanged.
func (b chatBody) chunk() chatBody {
	for i := range b.Choices {
		choice := &b.Choices[i]
		if choice.Delta == nil && choice.Message != nil {
			choice.Delta = choice.Message
			for n := range choice.Delta.ToolCalls {
				choice.Delta.ToolCalls[n].Index = &n
			}
		}
		choice.Message = nil
	}
	return b
}
