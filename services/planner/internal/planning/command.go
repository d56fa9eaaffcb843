package planning

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// CommandKind is the kind of action that planning needs next.
type CommandKind string

// The kinds of commands.
const (
	Call        CommandKind = "call"        // Ask a model.
	Investigate CommandKind = "investigate" // Ask an expert or a tool for information.
	Await       CommandKind = "await"       // Wait a little for experts to be announced.
	Ask         CommandKind = "ask"         // Ask a person, and give the work back until they answer.
	End         CommandKind = "end"         // Publish the one outcome.
)

// Command is the one action that planning waits for. The same facts give the same Key.
type Command struct {
	// Key identifies the command in the journal: the stage, a slash, and a count within the stage.
	Key  string      `json:"key"`
	Kind CommandKind `json:"kind"`
	// Stage is the present stage, for progress and traces.
	Stage Stage `json:"stage"`
	// Exactly one of these is set, by Kind; none for Await.
	Call *ModelCall             `json:"call,omitempty"`
	Look *Inquiry               `json:"look,omitempty"`
	Ask  *events.InputRequested `json:"ask,omitempty"`
	End  *Ending                `json:"end,omitempty"`
}

// ModelCall is what a model is asked, and the form of the wanted answer.
type ModelCall struct {
	// Role selects the configured model: "planner", "triage" or "report". A request's "models" maps roles to models.
	Role string `json:"role"`
	// Messages are the conversation; the system message is first.
	Messages []Message `json:"messages"`
	// Schema is the JSON Schema of the answer and Name its name. Strict is true if it fits the strict mode of providers.
	Schema json.RawMessage `json:"schema,omitempty"`
	Name   string          `json:"name,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

// Message is one message of a model call.
type Message struct {
	// Role is "system", "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
}

// Inquiry asks experts for information before planning starts.
type Inquiry struct {
	// Expert is the id of the expert that researches the request. If it is empty, Wanted names the expert that was not
	// found. Status lists the ids of experts that report the state of the system.
	Expert string   `json:"expert,omitempty"`
	Wanted string   `json:"wanted,omitempty"`
	Status []string `json:"status,omitempty"`
	// Query is what to look up, in the person's words.
	Query string `json:"query"`
	// Limit is the time that all experts together may take.
	Limit events.Duration `json:"limit"`
}

// Ending is the outcome of planning.
type Ending struct {
	// Kind is graph.created, job.answered, plan.rejected, or subjob.reported for a summary or report.
	Kind events.Kind `json:"kind"`
	// Report contains the summary or report, or the reason why there is none yet. Author says who wrote it.
	Report *events.SubJobReported `json:"report,omitempty"`
	Author Author                 `json:"author,omitempty"`
	// Plan is the checked graph. Finalize says how the planner writes up its result. Final is the card of the expert that
	// makes the result, or of its stand-in, if there is one.
	Finalize string       `json:"finalize,omitempty"`
	Plan     *events.Plan `json:"plan,omitempty"`
	Final    *events.Card `json:"final,omitempty"`
	// Keep is the plan to store for the next request with the same ReuseKey, or nil. Reused is true if Plan itself was
	// taken from that store.
	Keep   *events.Plan `json:"keep,omitempty"`
	Reused bool         `json:"reused,omitempty"`
	// Answer is the answer to the person, instead of a graph.
	Answer string `json:"answer,omitempty"`
	// Outcome is events.OutcomeGuidance if Answer says why there is no plan.
	Outcome string `json:"outcome,omitempty"`
	// Notices are what the person should know before the steps begin. FailurePolicy is the profile's, if the request has none.
	Notices       events.Faults        `json:"notices,omitempty"`
	FailurePolicy events.FailurePolicy `json:"failure_policy,omitempty"`
	// Faults lists everything that is wrong. Raw is the model's last text, kept for diagnosis.
	Faults events.Faults `json:"faults,omitempty"`
	Raw    string        `json:"raw,omitempty"`
	// Warnings lists what was repaired or changed in the plan. Fallback names the fallback level that made the plan, if
	// any.
	Warnings events.Faults `json:"warnings,omitempty"`
	Fallback Rung          `json:"fallback,omitempty"`
	// Remarks are doubts about a model's plan, for the metrics.
	Remarks []plan.Remark `json:"remarks,omitempty"`
	// Locale is the language detected for the job; Title is its heading.
	Locale string `json:"locale,omitempty"`
	Title  string `json:"title,omitempty"`
	// Rounds counts drafts; Calls counts model calls.
	Rounds int `json:"rounds,omitempty"`
	Calls  int `json:"calls,omitempty"`
}

// RequestID is the id of the request for input of an Ask.
func (t *Start) RequestID(key string) string {
	return t.Prefix + "-" + strings.ReplaceAll(key, "/", "-")
}
