package llm

import (
	"encoding/json"
	"time"
)

// Finish is why an answer ended, in one vocabulary for all providers. A Response has a regular end; the others are errors.
type Finish string

// The regular ends of an answer.
const (
	FinishStop  Finish = "stop"
	FinishCalls Finish = "tool_calls"
)

// Dialect is an API for calling models.
type Dialect string

// The dialects.
const (
	// DialectChat is OpenAI's chat API, /chat/completions.
	DialectChat Dialect = "chat"
	// DialectResponses is OpenAI's Responses API, /responses.
	DialectResponses Dialect = "responses"
	// DialectAnthropic is Anthropic's Messages API, /messages.
	DialectAnthropic Dialect = "anthropic"
	// DialectGemini is Gemini's API, generateContent and streamGenerateContent of a model.
	DialectGemini Dialect = "gemini"
)

// Rung is a way to request structured output; each is weaker than the one before it.
type Rung string

// The ways to request structured output, the strongest first.
const (
	RungSchema Rung = "json_schema"
	RungObject Rung = "json_object"
	RungTool   Rung = "tool"
	RungPrompt Rung = "prompt"
)

// Usage counts tokens as the provider bills them.
type Usage struct {
	// Prompt counts all input tokens, Cached those read from a cache, Written those written to one at a separate price.
	Prompt  int `json:"prompt"`
	Cached  int `json:"cached,omitempty"`
	Written int `json:"written,omitempty"`
	// Completion counts all output tokens, Reasoning those of them spent on reasoning.
	Completion int `json:"completion"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Total returns the number that budgets count.
func (u Usage) Total() int { return u.Prompt + u.Completion }

// plus returns the sum of two counts.
func (u Usage) plus(more Usage) Usage {
	return Usage{
		Prompt: u.Prompt + more.Prompt, Cached: u.Cached + more.Cached, Written: u.Written + more.Written,
		Completion: u.Completion + more.Completion, Reasoning: u.Reasoning + more.Reasoning,
	}
}

// Response is a complete answer.
type Response struct {
	// Text is the answer without its reasoning; with RungTool, the arguments of the forced call.
	Text string `json:"text,omitempty"`
	// Reasoning is the model's reasoning, if it shows any. It never goes back into a history.
	Reasoning string `json:"reasoning,omitempty"`
	// Calls are the tools to call.
	Calls []Call `json:"calls,omitempty"`
	// Finish is FinishStop or FinishCalls.
	Finish Finish `json:"finish"`
	// Usage counts tokens; all zero if the provider did not report them.
	Usage Usage `json:"usage"`
	// CostUSD is the cost of the call, nil if unknown.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Model is the configured name of the model that answered, possibly a fallback.
	Model string `json:"model"`
	// Served is the model's name according to the provider.
	Served string `json:"served,omitempty"`
	// ID is the provider's id of the answer.
	ID string `json:"id,omitempty"`
	// Took is the time from the first attempt to the whole answer, including waits.
	Took time.Duration `json:"took"`
	// Attempts counts the requests that were sent, over all models of the chain.
	Attempts int `json:"attempts"`
	// Dialect is the API that was used.
	Dialect Dialect `json:"dialect"`
	// Rung is how structured output was requested, empty if it was not.
	Rung Rung `json:"rung,omitempty"`
	// Dropped names settings of the request that were left out because the model rejects them.
	Dropped []string `json:"dropped,omitempty"`
	// Carry is data that the provider wants back with this turn; see Message.Carry.
	Carry json.RawMessage `json:"carry,omitempty"`
}

// Message returns the answer as a turn of the history, without its reasoning.
func (r Response) Message() Message {
	m := Assistant(r.Text, r.Calls...)
	m.Carry = r.Carry
	return m
}

// Delta is a piece of an answer, for display only: nothing but the Response is final.
type Delta struct {
	// Restart means that all earlier pieces are void: the call began again.
	Restart bool `json:"restart,omitempty"`
	// Retry says why an attempt failed after which another one is made.
	Retry string `json:"retry,omitempty"`
	// Text continues the text of the answer.
	Text string `json:"text,omitempty"`
	// Reasoning continues the reasoning of the answer.
	Reasoning string `json:"reasoning,omitempty"`
	// Call names a tool as soon as it is known that the model calls it.
	Call string `json:"call,omitempty"`
}
