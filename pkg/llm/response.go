package llm

import (
	"encoding/json"
	"time"
)

// Finish says why an answer ended, in one vocabulary for all providers. Only good ends are in a Response; the others are
// errors.
type Finish string

// The good ends.
const (
	FinishStop  Finish = "stop"
	FinishCalls Finish = "tool_calls"
)

// Dialect is the API that a model is spoken to in.
type Dialect string

// The dialects.
const (
	// DialectChat is /chat/completions.
	DialectChat Dialect = "chat"
	// DialectResponses is /responses.
	DialectResponses Dialect = "responses"
)

// Rung is a way to ask for structured output; each is weaker than the one before it.
type Rung string

// The rungs of the ladder, the strongest first.
const (
	RungSchema Rung = "json_schema"
	RungObject Rung = "json_object"
	RungTool   Rung = "tool"
	RungPrompt Rung = "prompt"
)

// Usage counts tokens as the provider bills them.
type Usage struct {
	// Prompt is everything read, Cached the part of it that was read from a cache.
	Prompt int `json:"prompt"`
	Cached int `json:"cached,omitempty"`
	// Completion is everything written, Reasoning the part of it that is thought.
	Completion int `json:"completion"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Total is what a budget counts.
func (u Usage) Total() int { return u.Prompt + u.Completion }

// Response is a whole answer that the provider has finished.
type Response struct {
	// Text is the answer without its reasoning; under RungTool it is the arguments of the forced call.
	Text string `json:"text,omitempty"`
	// Reasoning is what the model thought, where it shows it. It never goes back into a history.
	Reasoning string `json:"reasoning,omitempty"`
	// Calls are the tools to call.
	Calls []Call `json:"calls,omitempty"`
	// Finish is FinishStop or FinishCalls.
	Finish Finish `json:"finish"`
	// Usage counts tokens; all zero when the provider did not say.
	Usage Usage `json:"usage"`
	// CostUSD is what the call cost, nil when unknown.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Model is the configured name that answered, which a fallback may have changed.
	Model string `json:"model"`
	// Served is the model's name as the provider states it.
	Served string `json:"served,omitempty"`
	// ID is the provider's own id of the answer.
	ID string `json:"id,omitempty"`
	// Took is the time from the first attempt to the whole answer, waits included.
	Took time.Duration `json:"took"`
	// Attempts counts the requests that were sent, over all models of the chain.
	Attempts int `json:"attempts"`
	// Dialect is the API that was spoken.
	Dialect Dialect `json:"dialect"`
	// Rung is how structured output was asked for, empty when it was not.
	Rung Rung `json:"rung,omitempty"`
	// Dropped names settings of the request that this model refuses, and that were left out.
	Dropped []string `json:"dropped,omitempty"`
	// Carry is what the provider wants back with this turn: Message.Carry.
	Carry json.RawMessage `json:"carry,omitempty"`
}

// Message is the answer as a turn of the history, without its reasoning.
func (r Response) Message() Message {
	m := Assistant(r.Text, r.Calls...)
	m.Carry = r.Carry
	return m
}

// Delta is a piece of an answer on its way. Pieces are for watching: only the Response is believed.
type Delta struct {
	// Restart says that everything before it is void: the call began again.
	Restart bool `json:"restart,omitempty"`
	// Text continues the answer.
	Text string `json:"text,omitempty"`
	// Reasoning continues the thought.
	Reasoning string `json:"reasoning,omitempty"`
	// Call names a tool as soon as it is known that it will be called.
	Call string `json:"call,omitempty"`
}
