package llmtest

import (
	"cmp"
	"time"
	"unicode/utf8"
)

// Call is a tool that the scripted model calls.
type Call struct {
	// ID connects it with its result; derived from its position if empty.
	ID string `yaml:"id"`
	// Name is the name of the tool.
	Name string `yaml:"name"`
	// Args are the arguments as JSON text.
	Args string `yaml:"args"`
}

// Usage is what the scripted model reports as used.
type Usage struct {
	// Prompt and Completion count input and output tokens; Cached and Reasoning are parts of them.
	Prompt     int `yaml:"prompt"`
	Completion int `yaml:"completion"`
	Cached     int `yaml:"cached"`
	Reasoning  int `yaml:"reasoning"`
	// Written counts the input tokens that are written to the cache, a part of Prompt too.
	Written int `yaml:"written"`
	// CostUSD is the stated cost, if set.
	CostUSD *float64 `yaml:"cost_usd"`
}

// Fault is an error injected into an answer.
type Fault string

// The faults; each is one that providers or proxies really have.
const (
	// BadJSON breaks off within the JSON of a whole answer or of an event.
	BadJSON Fault = "bad_json"
	// ErrorIn200 sends {"error": …} under status 200.
	ErrorIn200 Fault = "error_in_200"
	// ErrorInChunk sends the error inside a normal chunk, after the text.
	ErrorInChunk Fault = "error_in_chunk"
	// EmptyChoices sends an answer without choices.
	EmptyChoices Fault = "empty_choices"
	// NoFinish ends the stream regularly without a finish reason.
	NoFinish Fault = "no_finish"
	// CutStream breaks the connection after the text, or after Answer.Cut chunks of it.
	CutStream Fault = "cut_stream"
	// Hang sends the text and then nothing until the caller gives up.
	Hang Fault = "hang"
)

// Answer is what the model answers, with an optional fault.
type Answer struct {
	// Text is the text of the answer.
	Text string `yaml:"text"`
	// Reasoning is sent as reasoning_content, or as a thought with a signature by APIs that have signatures.
	Reasoning string `yaml:"reasoning"`
	// Calls are the tools to call.
	Calls []Call `yaml:"calls"`
	// Refusal is the text of a refusal.
	Refusal string `yaml:"refusal"`
	// Finish is the finish reason; derived from the answer if empty.
	Finish string `yaml:"finish"`
	// Usage is derived from the lengths if nil.
	Usage *Usage `yaml:"usage"`
	// Chunk is the size of the pieces of a stream in characters; 0 means 8.
	Chunk int `yaml:"chunk"`
	// Delay is the pause before the answer, Gap the pause before each further piece of a stream.
	Delay time.Duration `yaml:"delay"`
	Gap   time.Duration `yaml:"gap"`
	// Status is an HTTP error status; Error, Code and Param are the contents of its body.
	Status int    `yaml:"status"`
	Error  string `yaml:"error"`
	Code   string `yaml:"code"`
	Param  string `yaml:"param"`
	// Header is added to the headers of the answer, such as Retry-After.
	Header map[string]string `yaml:"header"`
	// Fault is an error in an answer under status 200.
	Fault Fault `yaml:"fault"`
	// Cut is the number of chunks after which CutStream breaks off; 0 means after all.
	Cut int `yaml:"cut"`
	// Body replaces the whole body, in any form; Type is its content type, JSON if empty.
	Body string `yaml:"body"`
	Type string `yaml:"type"`
}

// finish returns the finish reason to send.
func (a Answer) finish() string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// used returns the stated usage, or one token per four bytes.
func (a Answer) used(q Question) Usage {
	if a.Usage != nil {
		return *a.Usage
	}
	written := len(a.Text) + len(a.Reasoning)
	for _, call := range a.Calls {
		written += len(call.Args)
	}
	return Usage{Prompt: len(q.All())/4 + 1, Completion: written/4 + 1, Reasoning: len(a.Reasoning) / 4}
}

// pieces cuts a text between letters.
func (a Answer) pieces(text string) []string {
	size := cmp.Or(a.Chunk, 8)
	var all []string
	for text != "" {
		end := 0
		for n := 0; n < size && end < len(text); n++ {
			_, width := utf8.DecodeRuneInString(text[end:])
			end += width
		}
		all, text = append(all, text[:end]), text[end:]
	}
	return all
}
