package events

import "encoding/json"

// Plan is a graph in native form: the result of decoding any dialect, and the content of graph.created.
type Plan struct {
	PlanID  string `json:"plan_id,omitempty"` // PlanID identifies the plan; the job's id if empty.
	Title   string `json:"title,omitempty"`   // Title is a short heading for people.
	Locale  string `json:"locale,omitempty"`  // Locale is the language of goals and answers, BCP 47.
	Thought string `json:"thought,omitempty"` // Thought is the planner's summary of the intent.
	// HasEnoughContext is true if the request can be answered from what is known (deer-go).
	HasEnoughContext *bool    `json:"has_enough_context,omitempty"`
	Adequate         *bool    `json:"adequate,omitempty"`         // Adequate is false if the planner needs more information from the person (ValueCell); see GuidanceMessage.
	Reason           string   `json:"reason,omitempty"`           // Reason explains Adequate.
	GuidanceMessage  string   `json:"guidance_message,omitempty"` // GuidanceMessage is shown to the person before anything runs.
	OrigQuery        string   `json:"orig_query,omitempty"`       // OrigQuery is the request as typed.
	CreatedAt        string   `json:"created_at,omitempty"`       // CreatedAt is when the plan was made, RFC 3339, as given.
	SubJobs          []SubJob `json:"subjobs"`                    // SubJobs are the nodes of the graph, in the order of the plan.
}

// SubJob is one node of a plan.
type SubJob struct {
	ID                 string          `json:"id"`                            // ID is unique in the plan.
	Name               string          `json:"name,omitempty"`                // Name is the original id if it was invalid and had to be mapped.
	Goal               string          `json:"goal"`                          // Goal says what to do.
	Title              string          `json:"title,omitempty"`               // Title is a short heading for people.
	Context            string          `json:"context,omitempty"`             // Context is all that the expert needs besides the results of its predecessors.
	CompletionCriteria string          `json:"completion_criteria,omitempty"` // CompletionCriteria says when the step is done.
	Dependencies       []string        `json:"dependencies,omitempty"`        // Dependencies are the ids of the direct predecessors.
	Expert             string          `json:"expert,omitempty"`              // Expert is the id of the expert's card; a plan sent by a caller may give its name instead.
	ExpertName         string          `json:"expert_name,omitempty"`         // ExpertName is the expert's display name; the planner fills it in.
	Pool               string          `json:"pool,omitempty"`                // Pool is the runner pool that serves the expert; the planner fills it in.
	Pure               bool            `json:"pure,omitempty"`                // Pure marks an expert without effects, which needs no claim: its first report wins. The planner fills it in.
	Type               string          `json:"type,omitempty"`                // Type is the kind of step, "research", "processing" or "analysis".
	Tag                string          `json:"tag,omitempty"`                 // Tag chooses an expert by tag if Expert is empty (OpenManus's "[TAG]").
	Needs              []string        `json:"needs,omitempty"`               // Needs are capabilities that the expert must have, such as "web_search".
	Thinking           string          `json:"thinking,omitempty"`            // Thinking is the planner's reason for the step.
	Language           string          `json:"language,omitempty"`            // Language is the language of the answer, BCP 47.
	OutputSchema       json.RawMessage `json:"output_schema,omitempty"`       // OutputSchema is the JSON Schema of the result.
	LifeCycle          *int            `json:"life_cycle,omitempty"`          // LifeCycle is how often the step may be split; the job's limit if nil.
	Retries            *int            `json:"retries,omitempty"`             // Retries is how often an EXECUTION_ERROR is retried; the job's limit if nil.
	Timeout            *Duration       `json:"timeout,omitempty"`             // Timeout limits one run; no limit if nil.
	When               string          `json:"when,omitempty"`                // When is a condition over results of direct predecessors; false skips the step.
	Schedule           *Schedule       `json:"schedule,omitempty"`            // Schedule is when the step recurs (ValueCell).
	Handoff            bool            `json:"handoff,omitempty"`             // Handoff gives the step a separate session, in the thread of the request (ValueCell).
	ExecutionRes       json.RawMessage `json:"execution_res,omitempty"`       // ExecutionRes is a result that is already known: the step starts as FINISHED.
	ExecutionRef       *Ref            `json:"execution_ref,omitempty"`       // ExecutionRef refers to that result if it is stored as a blob.
	Artifacts          []Ref           `json:"artifacts,omitempty"`           // Artifacts are the files of that result.
}

// Done reports whether the step already has its result.
func (j *SubJob) Done() bool { return len(j.ExecutionRes) > 0 || j.ExecutionRef != nil }

// Schedule says when something recurs. At most one of the four alternatives is set.
type Schedule struct {
	Pattern         string `json:"pattern,omitempty"`          // Pattern is "once" or "recurring".
	IntervalMinutes int    `json:"interval_minutes,omitempty"` // IntervalMinutes is the interval in minutes.
	DailyTime       string `json:"daily_time,omitempty"`       // DailyTime is a time of every day, HH:MM, 24 hours.
	Cron            string `json:"cron,omitempty"`             // Cron is a five-field expression.
	At              string `json:"at,omitempty"`               // At is a single time, RFC 3339.
	Timezone        string `json:"timezone,omitempty"`         // Timezone is an IANA name, UTC if empty.
	FirstRun        string `json:"first_run,omitempty"`        // FirstRun is "now" for a first run at once; "" or "due" waits for the first time.
}
