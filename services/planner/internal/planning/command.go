package planning

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// CommandKind says what planning needs next.
type CommandKind string

// The kinds of commands.
const (
	Call        CommandKind = "call"        // Ask a model.
	Investigate CommandKind = "investigate" // Have an expert or a tool look something up.
	Await       CommandKind = "await"       // Wait a little for experts to be announced.
	Ask         CommandKind = "ask"         // Ask a person, and give the work back until he answers.
	End         CommandKind = "end"         // State the outcome; there is no other.
)

// Command is the one thing that planning asks for. Its Key is the same whenever the same facts are folded.
type Command struct {
	// Key names it in the journal: the stage, a slash, and the how manyeth of that stage.
	Key  string      `json:"key"`
	Kind CommandKind `json:"kind"`
	// Stage is where planning stands, for progress and traces.
	Stage Stage `json:"stage"`
	// One of these is set, by Kind; Await has none.
	Call *ModelCall             `json:"call,omitempty"`
	Look *Inquiry               `json:"look,omitempty"`
	Ask  *events.InputRequested `json:"ask,omitempty"`
	End  *Ending                `json:"end,omitempty"`
}

// ModelCall is one call of a model.
type ModelCall struct {
	// Role chooses the configured model: "planner", "triage" or "report"; a request's "models" maps it.
	Role string `json:"role"`
	// Messages are the conversation, the system's first.
	Messages []Message `json:"messages"`
	// Schema is the JSON Schema of the answer, Name its name; Strict when it fits the strict mode of providers.
	Schema json.RawMessage `json:"schema,omitempty"`
	Name   string          `json:"name,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

// Message is one of a model call.
type Message struct {
	// Role is "system", "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
}

// Inquiry asks experts to look something up before anything is planned.
type Inquiry struct {
	// Expert is the id of the expert that researches the request, empty if there is none; Wanted then
	// says which was wanted. Status lists the ids of experts that report the state of the system.
	Expert string   `json:"expert,omitempty"`
	Wanted string   `json:"wanted,omitempty"`
	Status []string `json:"status,omitempty"`
	// Query is what to look up, in the person's words.
	Query string `json:"query"`
	// Limit is how long all of them together may take.
	Limit events.Duration `json:"limit"`
}

// Ending is how planning ends.
type Ending struct {
	// Kind is graph.created, job.answered or plan.rejected; subjob.reported when a result was put into words.
	Kind events.Kind `json:"kind"`
	// Report is what the words are, or why there are none yet, and Author who wrote them.
	Report *events.SubJobReported `json:"report,omitempty"`
	Author Author                 `json:"author,omitempty"`
	// Plan is the checked graph, Finalize how a planner puts its result into words, Final the card of the expert that makes
	// the result, or of its stand-in, if there is one.
	Finalize string       `json:"finalize,omitempty"`
	Plan     *events.Plan `json:"plan,omitempty"`
	Final    *events.Card `json:"final,omitempty"`
	// Keep is the plan to be kept for the next request with the same ReuseKey, nil for none; Reused is true for a plan that
	// was.
	Keep   *events.Plan `json:"keep,omitempty"`
	Reused bool         `json:"reused,omitempty"`
	// Answer is what the person is told instead of a graph.
	Answer string `json:"answer,omitempty"`
	// Faults is everything that is wrong, and Raw the model's last text, to be kept for diagnosis.
	Faults events.Faults `json:"faults,omitempty"`
	Raw    string        `json:"raw,omitempty"`
	// Warnings is what was read leniently or changed. Fallback names the rung that gave the plan, if one did.
	Warnings events.Faults `json:"warnings,omitempty"`
	Fallback Rung          `json:"fallback,omitempty"`
	// Remarks are doubts about a plan that a model wrote, for the metrics.
	Remarks []plan.Remark `json:"remarks,omitempty"`
	// Locale is the language found for the job, Title its heading.
	Locale string `json:"locale,omitempty"`
	Title  string `json:"title,omitempty"`
	// Rounds counts drafts, Calls the calls of models.
	Rounds int `json:"rounds,omitempty"`
	Calls  int `json:"calls,omitempty"`
}

// RequestID is the id of the request that an Ask states.
func (t *Start) RequestID(key string) string {
	return t.Prefix + "-" + strings.ReplaceAll(key, "/", "-")
}
