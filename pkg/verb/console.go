package verb

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// SubJobQuery names a SubJob and an event.
type SubJobQuery struct {
	SubJobRef
	// At is the sequence of the last event of the log to consider; 0 means all of it.
	At uint64 `json:"at,omitempty"`
}

// SubJobOf is everything known about a SubJob: State is its state, Spec its text as planned and edited, Output or Ref its result,
// Lessons are those of its runs. Long texts are cut.
type SubJobOf struct {
	JobID  string          `json:"job_id"`
	State  json.RawMessage `json:"state"`
	Spec   json.RawMessage `json:"spec"`
	Output json.RawMessage `json:"output,omitempty"`
	Ref    *events.Ref     `json:"output_ref,omitempty"`
	// Artifacts are the files of its result, Lessons those of its runs.
	Artifacts []FileLine `json:"artifacts,omitempty"`
	Lessons   []string   `json:"lessons,omitempty"`
	// Calls are those of models, tools and services, in the order in which they began.
	Calls []CallOf `json:"calls,omitempty"`
	// Inputs are the results of its direct predecessors, in their order.
	Inputs []InputOf `json:"inputs"`
	// Brief is what its latest run knew about the job.
	Brief json.RawMessage `json:"brief,omitempty"`
	// Log is the end of the log of its latest run; LogSize is the length of what is stored of it, in bytes.
	Log     string `json:"log,omitempty"`
	LogSize int    `json:"log_size,omitempty"`
	// Why says why it does not run.
	Why json.RawMessage `json:"why,omitempty"`
	// Runs are its runs, oldest first.
	Runs []RunOf `json:"runs"`
	// Actions are what a person can do with the SubJob.
	Actions []Action `json:"actions"`
}

// FileLine is a file and its address: Href returns all of it, and Preview is the kind of its preview.
type FileLine struct {
	events.Ref
	Href    string `json:"href"`
	Preview string `json:"preview"`
}

// CallOf is a call of a model, a tool or a service. Begun counts how often it was begun: more than once only if its runner died.
type CallOf struct {
	Run     int             `json:"run"`
	Key     string          `json:"key"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Outcome string          `json:"outcome"`
	Reason  string          `json:"reason,omitempty"`
	Begun   int             `json:"begun"`
	Model   string          `json:"model,omitempty"`
	events.Spent
	Asked  time.Time `json:"asked"`
	TookMS int64     `json:"took_ms"`
	// Answer is the recorded answer: JSON, or text if it is cut. Size is its length in bytes; Href returns all of an answer that is
	// cut.
	Answer    json.RawMessage `json:"answer,omitempty"`
	Size      int64           `json:"answer_size,omitempty"`
	Truncated bool            `json:"answer_truncated,omitempty"`
	Href      string          `json:"answer_href,omitempty"`
}

// InputOf is the result of a predecessor: JSON, or text if it is cut.
type InputOf struct {
	SubJob    string          `json:"subjob"`
	Output    json.RawMessage `json:"output,omitempty"`
	Size      int64           `json:"size"`
	Truncated bool            `json:"truncated,omitempty"`
	Skipped   bool            `json:"skipped,omitempty"`
	Href      string          `json:"href,omitempty"`
}

// RunOf is a run of a SubJob. Seq is the event that ended it.
type RunOf struct {
	Run     int           `json:"run"`
	Owner   string        `json:"owner,omitempty"`
	Started time.Time     `json:"started,omitzero"`
	Ended   time.Time     `json:"ended,omitzero"`
	Outcome string        `json:"outcome,omitempty"`
	Lesson  string        `json:"lesson,omitempty"`
	Error   *events.Fault `json:"error,omitempty"`
	events.Spent
	Seq uint64 `json:"seq,omitempty"`
}

// Action is something that a person can do, in every form: Method, Path and Input over HTTP, CLI and NATS as command lines; NATS is
// empty for a verb that only the gateway has. Permitted says whether the person's roles allow it, Possible whether the state does;
// Reason says why not.
type Action struct {
	Verb      string         `json:"verb"`
	About     string         `json:"about"`
	Effect    Effect         `json:"effect"`
	Permitted bool           `json:"permitted"`
	Possible  bool           `json:"possible"`
	Reason    string         `json:"reason,omitempty"`
	Method    string         `json:"method"`
	Path      string         `json:"path"`
	Input     map[string]any `json:"input"`
	CLI       string         `json:"cli,omitempty"`
	NATS      string         `json:"nats,omitempty"`
}

// Actions is what a person can do with a job or a SubJob.
type Actions struct {
	Actions []Action `json:"actions"`
}

// Rendering requests HTML for a text. Kind is markdown, code, json or diff.
type Rendering struct {
	Kind string `json:"kind"`
	// Text is the text to render, Language the programming language of code.
	Text     string `json:"text,omitempty"`
	Language string `json:"language,omitempty"`
	// Before and After are the sides of a difference: texts, or any JSON.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Rendered is inert HTML: no scripts, styles, images or ids. Truncated is true if only the beginning was rendered.
type Rendered struct {
	HTML      string `json:"html"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Preview is the beginning of a file in a form for people. Kind is text, code, markdown, csv, json, image or none.
type Preview struct {
	Name      string     `json:"name"`
	MediaType string     `json:"media_type"`
	Size      int64      `json:"size"`
	Kind      string     `json:"kind"`
	HTML      string     `json:"html,omitempty"`
	Rows      [][]string `json:"rows,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	// Src is the address of an image.
	Src string `json:"src,omitempty"`
}

// PayloadRef names a payload of a job by its digest.
type PayloadRef struct {
	Ref
	Digest string `json:"digest"`
}

// Me is the user who asks. Verbs are those that the roles permit.
type Me struct {
	User  string   `json:"user,omitempty"`
	Name  string   `json:"name"`
	Roles []Role   `json:"roles"`
	Verbs []string `json:"verbs"`
	// Own are the verbs that this user may use for their own jobs alone.
	Own     []string `json:"own,omitempty"`
	Version string   `json:"version"`
}

// Draft is a plan to be shown before it runs, in native form.
type Draft struct {
	Plan json.RawMessage `json:"plan"`
}

// Drawn is a plan as a picture. Faults are what would keep it from running, as far as the plan alone shows; the planner checks more
// when it is submitted.
type Drawn struct {
	Layout *Picture      `json:"layout,omitempty"`
	Faults events.Faults `json:"faults,omitempty"`
}
