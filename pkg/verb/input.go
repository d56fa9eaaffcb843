package verb

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Ref names a job, or a schedule.
type Ref struct {
	// ID is the id of the job or the schedule.
	ID string `json:"id"`
}

// JobQuery selects jobs for a list.
type JobQuery struct {
	// Labels must all be present with these values; State, Session and User must match, if given.
	Labels  map[string]string `json:"labels,omitempty"`
	State   events.Status     `json:"state,omitempty"`
	Session string            `json:"session,omitempty"`
	User    string            `json:"user,omitempty"`
	// Find has words that must all be in the id, title, goal, session, user or labels, in any case. Since leaves out jobs that have not
	// changed after it.
	Find  string    `json:"find,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Offset skips the newest jobs; Limit bounds the answer, 500 if 0.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// SubJobRef names a job or one of its SubJobs.
type SubJobRef struct {
	Ref
	SubJob string `json:"subjob,omitempty"`
}

// BriefQuery names the SubJob whose brief is requested.
type BriefQuery struct {
	Ref
	SubJob string `json:"subjob"`
}

// OpenInputs selects the open requests for input of one job, or of all without an id.
type OpenInputs struct {
	ID string `json:"id,omitempty"`
}

// Ending requests the end of a job or of a part of it.
type Ending struct {
	Ref
	events.StopRequested
	// If Wait is false, the answer comes as soon as the request is in the log; otherwise it waits for the end, up to Timeout (5 s).
	Wait    *bool           `json:"wait,omitempty"`
	Timeout events.Duration `json:"timeout,omitempty"`
}

// Recovery requests that a job continue.
type Recovery struct {
	Ref
	events.RecoverRequested
}

// Retry requests another run of a SubJob.
type Retry struct {
	Ref
	events.RetryRequested
}

// Rerun requests that a SubJob and everything that depends on it run again.
type Rerun struct {
	Ref
	events.RerunRequested
}

// PlanEdit replaces the unfinished part of a graph.
type PlanEdit struct {
	Ref
	events.PlanEdited
}

// Forking requests a new job that starts from the state of another one.
type Forking struct {
	Ref
	// At is the sequence of the event where the new job starts; 0 means the last one.
	At uint64 `json:"at,omitempty"`
	// NewID is the id of the new job; generated if empty.
	NewID string `json:"new_id,omitempty"`
	// Before is the SubJob to run again, with everything that depends on it; empty keeps all results.
	Before string `json:"before,omitempty"`
	// Model is the model of all experts that run. Expert executes the SubJob Before and Prompt is its goal; or Result
	// is its result, and it does not run.
	Model  string          `json:"model,omitempty"`
	Expert string          `json:"expert,omitempty"`
	Prompt string          `json:"prompt,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Answer closes a request for input.
type Answer struct {
	Ref
	// Request names the request; it may be omitted if only one is open.
	Request string `json:"request,omitempty"`
	// Answer is any JSON, By is the person who gives it. Action is "answered" (the default) or "cancelled".
	Answer json.RawMessage    `json:"answer,omitempty"`
	By     string             `json:"by,omitempty"`
	Action events.InputAction `json:"action,omitempty"`
}

// Waiting requests an answer when a job has ended.
type Waiting struct {
	Ref
	// Timeout limits the wait: 50 s if it is left out or 0, an hour at most.
	Timeout events.Duration `json:"timeout,omitempty"`
}

// DiffQuery compares a job with another one, such as its fork.
type DiffQuery struct {
	Ref
	// With is the id of the other job.
	With string `json:"with"`
}

// EventQuery selects events of a job.
type EventQuery struct {
	Ref
	// After leaves out events up to this sequence; Limit bounds the answer, 1,000 if 0.
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
	// Until is "end" for a stream that ends with the job; otherwise the stream continues.
	Until string `json:"until,omitempty"`
}

// LiveQuery selects live items of a job.
type LiveQuery struct {
	Ref
	// SubJob selects the items of one SubJob; From leaves out what came before this sequence.
	SubJob string `json:"subjob,omitempty"`
	From   uint64 `json:"from,omitempty"`
}

// GraphQuery requests the graph of a job.
type GraphQuery struct {
	Ref
	// Format is json, if empty, or svg.
	Format string `json:"format,omitempty"`
	// At is the sequence of the event at which the graph is wanted; 0 means the last one.
	At uint64 `json:"at,omitempty"`
	// Since is the sequence of a graph that the caller has: if the version of the graph is still the same, the answer has only
	// SubJobs that changed after it, without edges and versions.
	Since uint64 `json:"since,omitempty"`
}

// TimelineQuery requests the history of a job's graph.
type TimelineQuery struct {
	Ref
	// Calls adds the calls of models, tools and services.
	Calls bool `json:"calls,omitempty"`
}

// ArtifactRef names a file of a job: SUBJOB/NAME, or the beginning of its digest.
type ArtifactRef struct {
	Ref
	Name string `json:"name"`
}

// SessionRef names a session and the user who asks.
type SessionRef struct {
	Ref
	// User must be the session's own, if it has one.
	User string `json:"user,omitempty"`
}

// SessionQuery selects sessions for a list.
type SessionQuery struct {
	// User and State must match, if given. State is active, waiting or stopped.
	User  string `json:"user,omitempty"`
	State string `json:"state,omitempty"`
	// All also lists the sessions of SubJobs that were handed off.
	All bool `json:"all,omitempty"`
	// Offset skips the first sessions; Limit bounds the answer, 500 if 0.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// SessionJobs requests a session with its latest jobs.
type SessionJobs struct {
	SessionRef
	// Before selects the jobs before this one; Limit bounds them.
	Before string `json:"before,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// ConversationQuery requests a part of a conversation: the last items, those before a sequence, or the first after one.
type ConversationQuery struct {
	SessionRef
	// Before and After are sequences of items; with neither, the answer ends with the newest item. Limit bounds it, to 50 at most.
	Before uint64  `json:"before,omitempty"`
	After  *uint64 `json:"after,omitempty"`
	Limit  int     `json:"limit,omitempty"`
}

// Renaming gives a session a title.
type Renaming struct {
	SessionRef
	Title string `json:"title"`
}

// SessionStop stops the running jobs of a session.
type SessionStop struct {
	SessionRef
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// SessionDeletion removes a session, with Jobs also everything of its jobs.
type SessionDeletion struct {
	SessionRef
	Jobs bool `json:"jobs,omitempty"`
}

// ScheduleCreation is a request for a schedule.
type ScheduleCreation struct {
	// ID is chosen by the sender; without one it is generated.
	ID string `json:"id,omitempty"`
	schedule.Spec
	// By is the creator. Digest is what clients of earlier releases send; the scheduler computes it itself.
	By     string `json:"by,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Request is read like any other request of a job.
	Request json.RawMessage `json:"request"`
}

// ScheduleQuery selects schedules for a list.
type ScheduleQuery struct {
	Status schedule.Status `json:"status,omitempty"`
	// Offset skips the first schedules; Limit bounds the answer, 500 if 0.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// ScheduleWord is a person's request about a schedule.
type ScheduleWord struct {
	Ref
	schedule.Word
}

// UserSettings changes the settings of a user. Fields that are left out stay as they are.
type UserSettings struct {
	// User is the user's id, Timezone an IANA name or "" for none.
	User     string  `json:"user"`
	Timezone *string `json:"timezone,omitempty"`
}

// LetterRef names a dead letter: a job's id, or "request:7", "work:7:POOL".
type LetterRef struct {
	ID string `json:"id"`
}

// LetterRetry tries a dead letter again.
type LetterRetry struct {
	ID string `json:"id"`
	// By is the user who asks for it.
	By string `json:"by,omitempty"`
}

// PlanOperation is one operation on a plan document, or on the graph of a job. The command determines which fields it
// needs.
type PlanOperation struct {
	// Command is create, update, list, get, set_active, mark_step, delete or finish; it is part of the subject.
	Command string `json:"-"`
	// Book is the book that contains the plan; "main" if empty.
	Book string `json:"book,omitempty"`
	// PlanID is the plan, or the job whose graph is concerned; "job:ID" always means the job. Without it get and mark_step use the
	// active plan.
	PlanID string `json:"plan_id,omitempty"`
	// Title is the heading. Steps are texts, to be done one after the other, each optionally beginning with a "[TAG]". Plan
	// is a whole graph in any dialect instead of Steps.
	Title string          `json:"title,omitempty"`
	Steps []string        `json:"steps,omitempty"`
	Plan  json.RawMessage `json:"plan,omitempty"`
	// StepIndex is the step to mark, counted from 0; StepID selects a SubJob of a job instead.
	StepIndex *int   `json:"step_index,omitempty"`
	StepID    string `json:"step_id,omitempty"`
	// StepStatus is not_started, in_progress, completed or blocked; StepNotes are notes about the step, or why a job is
	// finished early.
	StepStatus string  `json:"step_status,omitempty"`
	StepNotes  *string `json:"step_notes,omitempty"`
	// By is who asks for it.
	By string `json:"by,omitempty"`
}
