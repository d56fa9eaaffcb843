package llmtest

import (
	"cmp"
	"time"
	"unicode/utf8"
)

// Call is a tool that the scripted model calls.
type Call struct {
	// ID connects it with its result; made from its place when empty.
	ID string `yaml:"id"`
	// Name is the tool.
	Name string `yaml:"name"`
	// Args are the arguments: a JSON text.
	Args string `yaml:"args"`
}

// Usage is what the scripted model claims to have used.
type Usage struct {
	// Prompt and Completion count tokens read and written, Cached and Reasoning parts of them.
	Prompt     int `yaml:"prompt"`
	Completion int `yaml:"completion"`
	Cached     int `yaml:"cached"`
	Reasoning  int `yaml:"reasoning"`
	// CostUSD is the cost that is stated, when set.
	CostUSD *float64 `yaml:"cost_usd"`
}

// Fault is what goes wrong with an answer.
type Fault string

// The faults.
const (
	// BadJSON breaks off within the JSON of a whole answer, or of an event.
	BadJSON Fault = "bad_json"
	// ErrorIn200 sends {"error": …} under status 200.
	ErrorIn200 Fault = "error_in_200"
	// ErrorInChunk sends the error inside of a normal chunk, after the text.
	ErrorInChunk Fault = "error_in_chunk"
	// EmptyChoices sends an answer without choices.
	EmptyChoices Fault = "empty_choices"
	// NoFinish ends the stream in an orderly way without saying why.
	NoFinish Fault = "no_finish"
	// CutStream breaks the connection after the text, or after Answer.Cut chunks of it.
	CutStream Fault = "cut_stream"
	// Hang sends the text and then nothing, until the caller gives up.
	Hang Fault = "hang"
)

// Answer is what the model says, and what goes wrong with it.
type Answer struct {
	// Text is the answer.
	Text string `yaml:"text"`
	// Reasoning is what it thought, sent as reasoning_content.
	Reasoning string `yaml:"reasoning"`
	// Calls are tools it wants to be called.
	Calls []Call `yaml:"calls"`
	// Refusal declines.
	Refusal string `yaml:"refusal"`
	// Finish is why it ended; what fits the answer when empty.
	Finish string `yaml:"finish"`
	// Usage is made from the lengths when nil.
	Usage *Usage `yaml:"usage"`
	// Chunk is the size of the pieces of a stream in letters, 8 when 0.
	Chunk int `yaml:"chunk"`
	// Delay passes before the answer, Gap before each further piece of a stream.
	Delay time.Duration `yaml:"delay"`
	Gap   time.Duration `yaml:"gap"`
	// Status is a failing status; Error, Code and Param are then what the body says.
	Status int    `yaml:"status"`
	Error  string `yaml:"error"`
	Code   string `yaml:"code"`
	Param  string `yaml:"param"`
	// Header is added to the answer's, such as Retry-After.
	Header map[string]string `yaml:"header"`
	// Fault is what goes wrong with an answer under status 200.
	Fault Fault `yaml:"fault"`
	// Cut is after how many chunks CutStream breaks off; all when 0.
	Cut int `yaml:"cut"`
	// Body replaces the whole body, of any form; Type is its content type, JSON when empty.
	Body string `yaml:"body"`
	Type string `yaml:"type"`
}

// finish is why the answer ends.
func (a Answer) finish() string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// used is what was used: stated, or a token for four bytes.
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
