package events

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

// WorkKind is what a work message asks for.
type WorkKind string

// The kinds of work.
const (
	WorkExecute  WorkKind = "execute"
	WorkPlan     WorkKind = "plan"     // Plan the whole job.
	WorkReplan   WorkKind = "replan"   // Replan the remainder of a job.
	WorkSplit    WorkKind = "split"    // Plan one SubJob as a separate graph.
	WorkFinalize WorkKind = "finalize" // Make the job's result from the results of its last steps.
)

// Work is one run of one SubJob: all that a worker in any language needs.
type Work struct {
	Kind WorkKind `json:"kind"` // Kind says what to do.
	// Job, SubJob and Run identify the run. Attempt counts from 1 within one series of retries.
	Job      string `json:"job"`
	SubJob   string `json:"subjob"`
	Run      int    `json:"run"`
	Attempt  int    `json:"attempt"`
	ResumeOf int    `json:"resume_of,omitempty"` // ResumeOf is the run whose journal this one continues; 0 for none.
	Spec     SubJob `json:"spec"`                // Spec is the SubJob as planned.
	// Goal, Context and CompletionCriteria repeat those of Spec, for workers that need no more.
	Goal               string                     `json:"goal"`
	Context            string                     `json:"context,omitempty"`
	CompletionCriteria string                     `json:"completion_criteria,omitempty"`
	Inputs             map[string]json.RawMessage `json:"inputs,omitempty"`         // Inputs are the job's named values.
	InputsRef          *Ref                       `json:"inputs_ref,omitempty"`     // InputsRef refers to the inputs if they are stored as a blob.
	Attachments        []Ref                      `json:"attachments,omitempty"`    // Attachments are the job's files.
	Results            map[string]Result          `json:"results,omitempty"`        // Results holds the result of each direct predecessor, by its id.
	ResultsRef         *Ref                       `json:"results_ref,omitempty"`    // ResultsRef refers to a blob with the same object, if there are too many to list.
	Lessons            []string                   `json:"lessons,omitempty"`        // Lessons are those of earlier runs and of successors, oldest first.
	Answers            map[string]InputClosed     `json:"answers,omitempty"`        // Answers are the answers to requests of the runs that this one resumes, by request id.
	Select             []string                   `json:"select,omitempty"`         // Select lists dotted paths; a report with its output in a blob has to repeat their values in "selected".
	LifeCycle          int                        `json:"life_cycle"`               // LifeCycle is how often the SubJob may still be split.
	Deadline           time.Time                  `json:"deadline,omitzero"`        // Deadline is when the job must have ended; zero if there is none.
	Budget             Spent                      `json:"budget,omitzero"`          // Budget is what the job could still spend when the work was issued; zero means no limit.
	Evaluator          *bool                      `json:"evaluator,omitempty"`      // Evaluator says whether the result is to be evaluated; the expert's card decides when nil.
	Model              string                     `json:"model,omitempty"`          // Model is the configured model that the request wants for experts; the expert's card decides if empty.
	Parent             string                     `json:"parent_session,omitempty"` // Parent is the session of the request, if the SubJob was handed off to a session of its own.
	Knowledge          []string                   `json:"knowledge,omitempty"`      // Knowledge are the bases of knowledge that the request names, in addition to those of the expert's card.
	Tools              *toolset.Change            `json:"tools,omitempty"`          // Tools is what the request changes about the tools of agents.
	// Session, Thread, User and Locale are those of the request; a handed-off SubJob has a session of its own.
	Session    string          `json:"session,omitempty"`
	Thread     string          `json:"thread,omitempty"`
	User       string          `json:"user,omitempty"`
	Locale     string          `json:"locale,omitempty"`
	History    json.RawMessage `json:"history,omitempty"`     // History is what was said in the session before the request: items of package item, oldest first.
	HistoryRef *Ref            `json:"history_ref,omitempty"` // HistoryRef refers to the history if it is stored as a blob.
	// Brief says what the job is about and where the step stands in it: a brief.Brief of package events/brief. BriefRef refers to
	// a blob with the fields that are shortened in it.
	Brief          json.RawMessage `json:"brief,omitempty"`
	BriefRef       *Ref            `json:"brief_ref,omitempty"`
	Request        *Request        `json:"request,omitempty"`      // Request is the whole request, for planning work only.
	PlanVersion    int             `json:"plan_version,omitempty"` // PlanVersion is the version of the graph, for planning work only.
	MaxSteps       int             `json:"max_steps,omitempty"`    // MaxSteps limits the plan, for planning work only.
	Finished       []string        `json:"finished,omitempty"`     // Finished are the ids of SubJobs with a result.
	ReportSubject  string          `json:"report_subject"`         // ReportSubject is the subject of the report.
	ReportID       string          `json:"report_id"`              // ReportID is the Nats-Msg-Id of the report.
	IdempotencyKey string          `json:"idempotency_key"`        // IdempotencyKey is the same for every delivery of this run: pass it to every system with effects.
	ClaimSubject   string          `json:"claim_subject"`          // ClaimSubject is the subject of the SubJob's journal.
	Former         []Tenure        `json:"former,omitempty"`       // Former are the pools of earlier runs, if claim_subject names a pool and they had others, or may have records without one.
	Lease          Duration        `json:"lease"`                  // Lease is how long a claim holds without renewal.
	CancelSubject  string          `json:"cancel_subject"`         // CancelSubject is the subject, over core NATS, that tells the worker to end the run at once.
}

// Tenure says that earlier runs of a SubJob belonged to another pool than its current ones. Of that pool's records, only those of
// runs up to Run count.
type Tenure struct {
	Pool string `json:"pool"` // Pool is the pool; empty for records on the subject without one.
	Run  int    `json:"run"`  // Run is the last run in it.
}

// Result is the result of a predecessor.
type Result struct {
	Output    json.RawMessage `json:"output,omitempty"`     // Output is the result, any JSON, if it is inline.
	OutputRef *Ref            `json:"output_ref,omitempty"` // OutputRef refers to it if it is stored as a blob.
	Artifacts []Ref           `json:"artifacts,omitempty"`  // Artifacts are its files.
	Run       int             `json:"run,omitempty"`        // Run is the run that made it; 0 for a result that came with the plan.
	Skipped   bool            `json:"skipped,omitempty"`    // Skipped is true if the predecessor's condition was false; then there is no output.
}

// JournalType is the type of a journal record.
type JournalType string

// The records of a journal.
const (
	JournalClaimed  JournalType = "claimed"  // An owner claims the run until now + lease.
	JournalRenewed  JournalType = "renewed"  // The owner renews its claim.
	JournalIntent   JournalType = "intent"   // An effect is about to be made.
	JournalResult   JournalType = "result"   // An effect was made; the record contains its result.
	JournalReported JournalType = "reported" // The run's report, stored before it is published.
	JournalClosed   JournalType = "closed"   // Neither this run nor a lower one may be claimed any more.
)

// JournalRecord is one entry in the journal of a SubJob.
type JournalRecord struct {
	Type    JournalType     `json:"type"`              // Type says what the record is.
	Run     int             `json:"run"`               // Run is the run of the record.
	Owner   string          `json:"owner,omitempty"`   // Owner is the runner that wrote it; empty for the scheduler.
	Lease   Duration        `json:"lease,omitempty"`   // Lease is the lease of a claim or renewal.
	Key     string          `json:"key,omitempty"`     // Key identifies an effect within the run.
	Name    string          `json:"name,omitempty"`    // Name is the name of the effect ("command", "http").
	Safe    bool            `json:"safe,omitempty"`    // Safe is true for an effect that may be repeated if its result is unknown.
	Data    json.RawMessage `json:"data,omitempty"`    // Data holds the intent's arguments, the effect's result or the report.
	Ref     *Ref            `json:"ref,omitempty"`     // Ref refers to the data if it is stored as a blob.
	Reason  string          `json:"reason,omitempty"`  // Reason says why a run was closed, or why an effect has no result.
	Decides uint64          `json:"decides,omitempty"` // Decides is the sequence of the intent that a person or a hook has decided about.
}

// SandboxTag begins the tag with a program's sandbox level and why it is not stricter; ToolsTag begins a tag with tools of the card that
// are not offered, separated by commas, and after a space why; BuiltinTag marks cards of Jobgraph, and
// CastTag begins tags that name the planning profiles that a built-in card is for.
const (
	SandboxTag = "sandbox:"
	ToolsTag   = "tools:"
	BuiltinTag = "builtin"
	CastTag    = "cast:"
)

// Card describes an expert to planners and people. It is stored in the experts bucket under its id.
type Card struct {
	ID           string          `json:"id"`                      // ID is part of subjects.
	Name         string          `json:"name"`                    // Name is for people and for plans.
	Description  string          `json:"description,omitempty"`   // Description says what the expert is good for.
	Kind         string          `json:"kind"`                    // Kind is "command", "nats", "func" or a later one.
	Pool         string          `json:"pool,omitempty"`          // Pool is the runner pool that serves it, DefaultPool when empty.
	Pure         bool            `json:"pure,omitempty"`          // Pure experts have no effects: their work may run more than once, and the first report wins.
	Skills       []string        `json:"skills,omitempty"`        // Skills are for selection.
	Tags         []string        `json:"tags,omitempty"`          // Tags are for selection as well.
	Examples     []string        `json:"examples,omitempty"`      // Examples are typical requests in people's words.
	Languages    []string        `json:"languages,omitempty"`     // Languages are those that it knows, BCP 47 tags or their English names; empty means any.
	Hidden       bool            `json:"hidden,omitempty"`        // Hidden experts are never used in plans of a model.
	Disabled     bool            `json:"disabled,omitempty"`      // Disabled experts are not used in plans.
	Passthrough  bool            `json:"passthrough,omitempty"`   // Passthrough experts get a whole goal as one SubJob, without planning.
	Concurrency  int             `json:"concurrency,omitempty"`   // Concurrency limits the concurrent runs on one runner; 0 means the runner's limit.
	Timeout      *Duration       `json:"timeout,omitempty"`       // Timeout is the default for its SubJobs.
	Retries      *int            `json:"retries,omitempty"`       // Retries are the default for its SubJobs.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"` // OutputSchema is the JSON Schema of its results.
	Batches      bool            `json:"batches,omitempty"`       // Batches is true if the runner also accepts batches of work of its pool.
	Runner       string          `json:"runner,omitempty"`        // Runner is the runner that announced the card.
	Seen         time.Time       `json:"seen,omitzero"`           // Seen is when the card was last announced.
}
