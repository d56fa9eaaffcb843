package verb

import "encoding/json"

// OpenAI is the API of the routes under /v1: models, chat completions and responses.
const OpenAI = "OpenAI"

// ChatRequest asks a model, which is a profile or an expert, for the next message of a conversation. Unknown fields are ignored.
type ChatRequest struct {
	// Model is the id of a model, Messages are the conversation so far, oldest first.
	Model    string        `json:"model"`
	Messages []ChatMessage `json:"messages"`
	// Stream sends the answer in pieces; StreamOptions refine that.
	Stream        bool           `json:"stream,omitempty"`
	StreamOptions *StreamOptions `json:"stream_options,omitempty"`
	// User is the user for whom an admin asks; for all others it only separates conversations.
	User string `json:"user,omitempty"`
	// Metadata may name the session of the conversation under "session".
	Metadata map[string]string `json:"metadata,omitempty"`
	// N must be 1. Tools, Functions and a ResponseFormat of JSON are refused, since models here have their own tools.
	N              *int              `json:"n,omitempty"`
	Tools          []json.RawMessage `json:"tools,omitempty"`
	Functions      []json.RawMessage `json:"functions,omitempty"`
	ResponseFormat json.RawMessage   `json:"response_format,omitempty"`
}

// ChatMessage is one message of a conversation.
type ChatMessage struct {
	// Role is system, developer, user, assistant or tool.
	Role string `json:"role"`
	// Content is a text, or a list of parts of the type text.
	Content json.RawMessage `json:"content,omitempty"`
	// Refusal is the text of a model that refused to answer.
	Refusal string `json:"refusal,omitempty"`
}

// StreamOptions refine how an answer is streamed.
type StreamOptions struct {
	// IncludeUsage adds a last chunk with the usage.
	IncludeUsage bool `json:"include_usage,omitempty"`
}

// ChatCompletion is the answer to a ChatRequest.
type ChatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   *ChatUsage   `json:"usage,omitempty"`
	// Jobgraph says where the answer comes from.
	Jobgraph *ChatOrigin `json:"jobgraph,omitempty"`
}

// ChatChoice is the only answer: Message, or in a stream a Delta of it. FinishReason is "stop" at its end.
type ChatChoice struct {
	Index        int        `json:"index"`
	Message      *ChatReply `json:"message,omitempty"`
	Delta        *ChatReply `json:"delta,omitempty"`
	FinishReason *string    `json:"finish_reason"`
}

// ChatReply is a message of the assistant, or a piece of it. Reasoning is what planner and experts say before the answer; a message
// that is not streamed has none.
type ChatReply struct {
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
}

// ChatUsage counts tokens. Jobgraph counts prompts and completions together, as Completion.
type ChatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// ChatOrigin names the job and the session of an answer and, if the answer is a question, the request for input.
type ChatOrigin struct {
	JobID   string `json:"job_id"`
	Session string `json:"session"`
	Request string `json:"request,omitempty"`
}

// ModelRef names a model of OpenAI's API.
type ModelRef struct {
	Model string `json:"model"`
}

// ModelLine is a profile or an expert as a model of OpenAI's API.
type ModelLine struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// Description says what it does; Kind is "profile" or "expert".
	Description string `json:"description,omitempty"`
	Kind        string `json:"kind"`
}

// ModelList lists models: profiles, then experts.
type ModelList struct {
	Object string      `json:"object"`
	Data   []ModelLine `json:"data"`
}

// ProfileList lists the profiles of the planner, by name.
type ProfileList struct {
	Profiles []ProfileLine `json:"profiles"`
}

// ProfileLine is a profile: About says what it does; Default is true for the profile of requests that name none.
type ProfileLine struct {
	Name    string `json:"name"`
	About   string `json:"about,omitempty"`
	Default bool   `json:"default,omitempty"`
}

// ResponseRequest asks a model for a response, as in OpenAI's newer API. Unknown fields are ignored.
type ResponseRequest struct {
	Model string `json:"model"`
	// Input is a text, or a list of messages. Instructions are a system message.
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions,omitempty"`
	// Previous is the response that the input follows: it continues the session of that response.
	Previous string `json:"previous_response_id,omitempty"`
	// Conversation is the session, as a text or as {"id":…}.
	Conversation json.RawMessage   `json:"conversation,omitempty"`
	Stream       bool              `json:"stream,omitempty"`
	User         string            `json:"user,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	// Tools, Background and JSON as the format of Text are refused.
	Tools      []json.RawMessage `json:"tools,omitempty"`
	Background bool              `json:"background,omitempty"`
	Text       json.RawMessage   `json:"text,omitempty"`
}

// Response is the answer to a ResponseRequest.
type Response struct {
	ID        string           `json:"id"`
	Object    string           `json:"object"`
	CreatedAt int64            `json:"created_at"`
	Status    string           `json:"status"` // Status is in_progress or completed.
	Model     string           `json:"model"`
	Output    []ResponseOutput `json:"output"`
	Previous  *string          `json:"previous_response_id"`
	Usage     *ResponseUsage   `json:"usage"`
	Error     *ResponseError   `json:"error"`
	Jobgraph  *ChatOrigin      `json:"jobgraph,omitempty"`
}

// ResponseOutput is the message of a response.
type ResponseOutput struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Role    string         `json:"role"`
	Status  string         `json:"status"`
	Content []ResponsePart `json:"content"`
}

// ResponsePart is the text of a message.
type ResponsePart struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Annotations []json.RawMessage `json:"annotations"`
}

// ResponseUsage counts tokens. Jobgraph counts prompts and completions together, as Output.
type ResponseUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// ResponseError says why a response failed.
type ResponseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ResponseEvent is an event of a streamed response; Type says which fields it has.
type ResponseEvent struct {
	Type         string          `json:"type"`
	Sequence     int             `json:"sequence_number"`
	Response     *Response       `json:"response,omitempty"`
	OutputIndex  *int            `json:"output_index,omitempty"`
	ContentIndex *int            `json:"content_index,omitempty"`
	ItemID       string          `json:"item_id,omitempty"`
	Item         *ResponseOutput `json:"item,omitempty"`
	Part         *ResponsePart   `json:"part,omitempty"`
	Delta        string          `json:"delta,omitempty"`
	Text         string          `json:"text,omitempty"`
}
