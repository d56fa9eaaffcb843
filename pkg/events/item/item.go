package item

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Type is the kind of an item of a conversation or of live output.
type Type string

// The types of items. Readers show an item of a type that they do not know by its text.
const (
	Message   Type = "message"   // A person's request or message.
	Question  Type = "question"  // A request for input: a question, a form or an approval.
	Answer    Type = "answer"    // A person's answer to a question, or its end without one.
	Thinking  Type = "thinking"  // Reasoning of a model.
	Text      Type = "text"      // Text that an expert or the planner writes.
	Tool      Type = "tool"      // A tool call, and its end.
	Component Type = "component" // Data for display, such as a report or a chart; Component names its kind.
	Guidance  Type = "guidance"  // What the planner tells the person besides the plan.
	Warning   Type = "warning"   // What was changed, dropped or left out of the request.
	Result    Type = "result"    // The result of a job, or why it has none.
	Schedule  Type = "schedule"  // A run of a schedule, with its result.
	Plan      Type = "plan"      // The steps that the planner chose.
	Log       Type = "log"       // Lines that a program wrote to its standard error.
	Progress  Type = "progress"  // A milestone of a run.
	Seam      Type = "seam"      // A run continues where another one, or another runner, broke off; Seam says how.
	Prompt    Type = "prompt"    // What the planner asks a model, in a job with Debug.
	Raw       Type = "raw"       // The model's answer to a prompt, unchanged.
	Gap       Type = "gap"       // Something is missing here; Truncated says how many bytes, if that is known.
)

// Item is one thing that was said or done, for people to see. Items of a session are its conversation; items of a job are its live
// output. An item with the ID of an earlier one of the same job, SubJob and run replaces or continues that one.
type Item struct {
	Type   Type      `json:"type"`             // Type is the kind of the item.
	ID     string    `json:"id"`               // ID is unique within job, SubJob and run, for example "answer/2".
	At     time.Time `json:"at,omitzero"`      // At is when it was said.
	Job    string    `json:"job,omitempty"`    // Job is the job that it belongs to.
	SubJob string    `json:"subjob,omitempty"` // SubJob is the SubJob that it belongs to; empty for the job as a whole.
	Run    int       `json:"run,omitempty"`    // Run is the run that made it; 0 if no run did.
	Expert string    `json:"expert,omitempty"` // Expert is the expert that said it; empty for planner and people.
	User   string    `json:"user,omitempty"`   // User is the person who said it, if one did.
	// Pool is the pool of the run: the planner names it for an expert that it consults. Only its items are of that run.
	Pool string `json:"pool,omitempty"`
	// Offset is where Text continues the item, in bytes; 0 starts it again. Without Text the text stays as it is.
	Offset int    `json:"offset,omitempty"`
	Text   string `json:"text,omitempty"` // Text is what people read.
	// Truncated is how many bytes of Text were left out at its end, because the item would be too large.
	Truncated int `json:"truncated,omitempty"`
	// Tool is the name of a tool, Args are its arguments as far as they are shown, and Bytes is the size of its result.
	Tool  string `json:"tool,omitempty"`
	Args  string `json:"args,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
	// Outcome is how a call of a tool ended, with Done: ok, error, denied, rejected or unknown; empty if its maker does not say. TookMS is
	// how long it took, in milliseconds.
	Outcome string `json:"outcome,omitempty"`
	TookMS  int64  `json:"took_ms,omitempty"`
	Done    bool   `json:"done,omitempty"` // Done is true when nothing will be added to the item.
	// Component is the kind of a component, for example "report"; Data is its content or the structure of another item.
	Component string          `json:"component,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Request   string          `json:"request,omitempty"` // Request is the id of the request for input of a question or answer.
	Ref       *events.Ref     `json:"ref,omitempty"`     // Ref refers to the whole text if it is stored as a blob.
	Seam      *Broken         `json:"seam,omitempty"`    // Seam is set for an item of the type Seam.
}

// Broken says how the items that follow a seam relate to those before it.
type Broken struct {
	// Run is the run that broke off, which may be the same run in another runner.
	Run int `json:"run"`
	// Continues is true if finished items of that run stay valid and only open ones begin again; otherwise all of them are
	// replaced.
	Continues bool `json:"continues,omitempty"`
}
