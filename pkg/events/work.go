package events

import (
	"encoding/json"
	"time"
)

// WorkKind is what a work message asks for.
type WorkKind string

// The kinds of work.
const (
	WorkExecute  WorkKind = "execute"
	WorkPlan     WorkKind = "plan"     // Plan the whole job.
	WorkReplan   WorkKind = "replan"   // Plan the remainder of a job again.
	WorkSplit    WorkKind = "split"    // Plan one SubJob as a graph of its own.
	WorkFinalize WorkKind = "finalize" // Make the job's result out of the tails.
)

// Work is one run of one SubJob: all that a worker in any language needs.
type Work struct {
	Kind WorkKind `json:"kind"` // Kind is what to do.
	// Job, SubJob and Run name the run. Attempt counts from 1 within one series of retries.
	Job      string `json:"job"`
	SubJob   string `json:"subjob"`
	Run      int    `json:"run"`
	Attempt  int    `json:"attempt"`
	ResumeOf int    `json:"resume_of,omitempty"` // ResumeOf is the run whose journal this one continues, 0 for none.
	Spec     SubJob `json:"spec"`                // Spec is the SubJob as planned.
	// Goal, Context and CompletionCriteria repeat Spec at the top level for workers that need no more.
	Goal               string                     `json:"goal"`
	Context            string                     `json:"context,omitempty"`
	CompletionCriteria string                     `json:"completion_criteria,omitempty"`
	Inputs             map[string]json.RawMessage `json:"inputs,omitempty"`      // Inputs are the job's named values.
	InputsRef          *Ref                       `json:"inputs_ref,omitempty"`  // InputsRef is the same by reference.
	Attachments        []Ref                      `json:"attachments,omitempty"` // Attachments are the job's files.
	Results            map[string]Result          `json:"results,omitempty"`     // Results holds what each direct predecessor handed over, by its id.
	ResultsRef         *Ref                       `json:"results_ref,omitempty"` // ResultsRef is a blob with the same object, when there are too many to list.
	Lessons            []string                   `json:"lessons,omitempty"`     // Lessons are what earlier runs and successors learned, oldest first.
	Answers            map[string]InputClosed     `json:"answers,omitempty"`     // Answers are those to the requests of the runs that this one resumes, by request id.
	Select             []string                   `json:"select,omitempty"`      // Select lists dotted paths that a report by reference has to repeat in "selected".
	LifeCycle          int                        `json:"life_cycle"`            // LifeCycle is how often the SubJob may still be split.
	Deadline           time.Time                  `json:"deadline,omitzero"`     // Deadline is when the job must have ended; zero for none.
	Budget             Spent                      `json:"budget,omitzero"`       // Budget is what the job may still spend, as of when the work was issued; a zero is no bound.
	Evaluator          *bool                      `json:"evaluator,omitempty"`   // Evaluator says whether the result is to be evaluated; the expert's card decides when nil.
	Model              string                     `json:"model,omitempty"`       // Model is the configured model that the request wants for experts; the expert's card decides when empty.
	// Session, Thread, User and Locale are those of the request; a SubJob that was handed off has a session of its own.
	Session string `json:"session,omitempty"`
	Thread  string `json:"thread,omitempty"`
	User    string `json:"user,omitempty"`
	Locale  string `json:"locale,omitempty"`
	// Request is the whole request, for planning work only; PlanVersion the graph's version it is based on.
	Request        *Request `json:"request,omitempty"`
	PlanVersion    int      `json:"plan_version,omitempty"`
	MaxSteps       int      `json:"max_steps,omitempty"` // MaxSteps bounds the plan, for planning work only.
	Finished       []string `json:"finished,omitempty"`  // Finished are the ids of SubJobs with a result.
	ReportSubject  string   `json:"report_subject"`      // ReportSubject is where the report goes.
	ReportID       string   `json:"report_id"`           // ReportID is the Nats-Msg-Id of the report.
	IdempotencyKey string   `json:"idempotency_key"`     // IdempotencyKey is the same for every delivery of this run: hand it to whatever has effects.
	ClaimSubject   string   `json:"claim_subject"`       // ClaimSubject is the journal of the SubJob.
	Lease          Duration `json:"lease"`               // Lease is how long a claim holds without renewal.
	CancelSubject  string   `json:"cancel_subject"`      // CancelSubject tells over core NATS that the run has to end now.
}

// Result is what a predecessor handed over.
type Result struct {
	// Output is any JSON, inline or by reference.
	Output    json.RawMessage `json:"output,omitempty"`
	OutputRef *Ref            `json:"output_ref,omitempty"` // OutputRef is the same by reference.
	Artifacts []Ref           `json:"artifacts,omitempty"`  // Artifacts are the files that came with it.
	Run       int             `json:"run,omitempty"`        // Run is the run that made it, 0 for a result that came with the plan.
	Skipped   bool            `json:"skipped,omitempty"`    // Skipped is true when the predecessor's condition did not hold; there is no output then.
}

// JournalType is what a journal record says.
type JournalType string

// The records of a journal.
const (
	JournalClaimed  JournalType = "claimed"  // An owner holds the run until now + lease.
	JournalRenewed  JournalType = "renewed"  // It still does.
	JournalIntent   JournalType = "intent"   // An effect is about to be made.
	JournalResult   JournalType = "result"   // An effect was made, and this is what came back.
	JournalReported JournalType = "reported" // The run's report, kept before it is published.
	JournalClosed   JournalType = "closed"   // Neither this run nor a lower one may be claimed any more.
)

// JournalRecord is one entry in the journal of a SubJob.
type JournalRecord struct {
	Type    JournalType     `json:"type"`              // Type says what the record is.
	Run     int             `json:"run"`               // Run is the run it belongs to.
	Owner   string          `json:"owner,omitempty"`   // Owner is the runner that wrote it; empty for the scheduler.
	Lease   Duration        `json:"lease,omitempty"`   // Lease is how long a claim or renewal holds.
	Key     string          `json:"key,omitempty"`     // Key identifies an effect within the run.
	Name    string          `json:"name,omitempty"`    // Name says what the effect is ("command", "http").
	Safe    bool            `json:"safe,omitempty"`    // Safe is true for an effect that may be repeated when its result is unknown.
	Data    json.RawMessage `json:"data,omitempty"`    // Data is the intent's arguments, the effect's result or the report.
	Ref     *Ref            `json:"ref,omitempty"`     // Ref is the same by reference.
	Reason  string          `json:"reason,omitempty"`  // Reason is why a run was closed, or why an effect has no result.
	Decides uint64          `json:"decides,omitempty"` // Decides is the sequence of the intent that a person or a hook has decided about.
}

// SandboxTag begins the tag with a program's sandbox level and why it is no stricter one; BuiltinTag marks cards of Jobgraph itself.
const (
	SandboxTag = "sandbox:"
	BuiltinTag = "builtin"
)

// Card describes an expert to planners and people. It lives in the experts bucket under its id.
type Card struct {
	ID          string `json:"id"`                    // ID goes into subjects.
	Name        string `json:"name"`                  // Name is for people and for plans.
	Description string `json:"description,omitempty"` // Description says what it is good for.
	Kind        string `json:"kind"`                  // Kind is "command", "nats", "func" or a later one.
	Pool        string `json:"pool,omitempty"`        // Pool is the runner pool that serves it, DefaultPool when empty.
	Pure        bool   `json:"pure,omitempty"`        // Pure experts have no effects: at-least-once, first report wins.
	// Skills and Tags are for selection; Examples are requests that it is good at, in the words of people.
	Skills       []string        `json:"skills,omitempty"`
	Tags         []string        `json:"tags,omitempty"`
	Examples     []string        `json:"examples,omitempty"`
	Hidden       bool            `json:"hidden,omitempty"`        // Hidden experts are never planned for by a model.
	Disabled     bool            `json:"disabled,omitempty"`      // Disabled experts are not used in plans.
	Passthrough  bool            `json:"passthrough,omitempty"`   // Passthrough experts take a whole goal as one SubJob, without planning.
	Concurrency  int             `json:"concurrency,omitempty"`   // Concurrency bounds the runs at once on one runner; 0 means the runner's limit.
	Timeout      *Duration       `json:"timeout,omitempty"`       // Timeout is the default for its SubJobs.
	Retries      *int            `json:"retries,omitempty"`       // Retries are the default for its SubJobs.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"` // OutputSchema is the JSON Schema of its results.
	Batches      bool            `json:"batches,omitempty"`       // Batches says that the runner takes work of its pool in batches, too.
	Runner       string          `json:"runner,omitempty"`        // Runner is who announced the card.
	Seen         time.Time       `json:"seen,omitzero"`           // Seen is when it last did.
}
