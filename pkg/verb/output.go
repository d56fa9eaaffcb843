package verb

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// Receipt is what is known about an accepted request.
type Receipt struct {
	// JobID is the job's id; ScheduleID is the schedule that was created instead of a job.
	JobID      string `json:"job_id"`
	ScheduleID string `json:"schedule_id,omitempty"`
	// Answered is the open question that the request answered: then JobID is the job that asked.
	Answered string `json:"answered,omitempty"`
	// Unanswered is the question that is open in the session and was not answered.
	Unanswered json.RawMessage `json:"unanswered,omitempty"`
	// Admitted is false while no scheduler has read the request.
	Admitted bool `json:"admitted,omitempty"`
	// Waits is why a scheduler leaves the request in its queue for now.
	Waits string `json:"waits,omitempty"`
}

// State is the state of a job; it has more fields than these. Seq is the last event that it contains, Counts are its SubJobs by
// status.
type State struct {
	ID      string                `json:"id"`
	Status  events.Status         `json:"status"`
	Goal    string                `json:"goal,omitempty"`
	Seq     uint64                `json:"seq"`
	Counts  map[events.Status]int `json:"counts,omitempty"`
	Result  json.RawMessage       `json:"result,omitempty"`
	Error   *events.Fault         `json:"error,omitempty"`
	SubJobs []json.RawMessage     `json:"subjobs,omitempty"`
}

// JobLine is a job in a list. Created, Changed and Ended are times of its log; Outcome refines the status of a job that has ended,
// and Quarantined says why the scheduler leaves a job alone.
type JobLine struct {
	ID          string            `json:"id"`
	Status      events.Status     `json:"status"`
	Goal        string            `json:"goal,omitempty"`
	Title       string            `json:"title,omitempty"`
	Session     string            `json:"session,omitempty"`
	User        string            `json:"user,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Created     time.Time         `json:"created,omitzero"`
	Changed     time.Time         `json:"changed,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Progress    json.RawMessage   `json:"progress,omitempty"`
	Cost        *Cost             `json:"cost,omitempty"`
	Outcome     string            `json:"outcome,omitempty"`
	Quarantined *events.Fault     `json:"quarantined,omitempty"`
}

// Jobs is a page of jobs, newest first; Total counts all that match.
type Jobs struct {
	Jobs  []JobLine `json:"jobs"`
	Total int       `json:"total"`
}

// Reasons says why a job or SubJob does not run.
type Reasons struct {
	JobID    string          `json:"job_id"`
	Status   events.Status   `json:"status"`
	Blockers json.RawMessage `json:"blockers"`
}

// Question is an open request for input. Request names it in an answer; SubJob is the SubJob that waits for it. Options are the
// answers to choose from, and Schema describes any other; with Open, free text is accepted besides Options. User may answer it,
// anyone if empty; Expires is when it closes by itself, never if zero.
type Question struct {
	JobID   string           `json:"job_id"`
	Request string           `json:"request"`
	SubJob  string           `json:"subjob"`
	Kind    events.InputKind `json:"kind"`
	Prompt  string           `json:"prompt,omitempty"`
	Options []string         `json:"options,omitempty"`
	Schema  json.RawMessage  `json:"schema,omitempty"`
	Open    bool             `json:"open,omitempty"`
	User    string           `json:"user,omitempty"`
	Expires time.Time        `json:"expires,omitzero"`
}

// Questions are the open requests for input.
type Questions struct {
	Inputs []Question `json:"inputs"`
}

// Told is the answer to a request that became an event.
type Told struct {
	JobID string `json:"job_id"`
	// Seq is the sequence of the event in the log.
	Seq uint64 `json:"seq"`
	// Accepted is true if the log has the event and it was legal at that point.
	Accepted bool `json:"accepted"`
	// Status is the job's status once it has ended, for verbs that wait for that.
	Status events.Status `json:"status,omitempty"`
}

// Waited is the state of a job at the end of a wait. Ended is true once the job has ended: then Result is its result, ResultRef
// refers to one that is stored as a blob, and Error says why it failed. Otherwise the job asks for Inputs, or the timeout has
// passed. Done and Total count its SubJobs; Created and Changed are times of its log.
type Waited struct {
	JobID     string          `json:"job_id"`
	Status    events.Status   `json:"status"`
	Ended     bool            `json:"ended"`
	Done      int             `json:"done"`
	Total     int             `json:"total"`
	Created   time.Time       `json:"created,omitzero"`
	Changed   time.Time       `json:"changed,omitzero"`
	Inputs    []Question      `json:"inputs,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	ResultRef *events.Ref     `json:"result_ref,omitempty"`
	Error     *events.Fault   `json:"error,omitempty"`
}

// Difference says how two jobs differ. A and B summarise them, Plan lists the differences of their graphs, and SubJobs those with
// another status, expert, result or cost. Same is true if plan, results and status are the same; times do not count.
type Difference struct {
	Same    bool              `json:"same"`
	A       json.RawMessage   `json:"a"`
	B       json.RawMessage   `json:"b"`
	Plan    json.RawMessage   `json:"plan"`
	SubJobs []json.RawMessage `json:"subjobs"`
}

// Deleted is the answer to the deletion of a job.
type Deleted struct {
	JobID   string `json:"job_id"`
	Deleted bool   `json:"deleted"`
}

// Event is an event in the form for programs. Seq is its sequence in the log and Time when it was stored; Key and ID are those of
// the event. Data depends on Kind; an unreadable event has its text in Raw and the reason in Fault instead.
type Event struct {
	Seq    uint64        `json:"seq"`
	Time   time.Time     `json:"time"`
	Kind   events.Kind   `json:"kind"`
	ID     string        `json:"id,omitempty"`
	Job    string        `json:"job"`
	SubJob string        `json:"subjob,omitempty"`
	Run    int           `json:"run,omitempty"`
	Key    string        `json:"key,omitempty"`
	Source string        `json:"source,omitempty"`
	Trace  string        `json:"traceparent,omitempty"`
	Data   any           `json:"data,omitempty"`
	Raw    string        `json:"raw,omitempty"`
	Fault  *events.Fault `json:"fault,omitempty"`
}

// EventOf returns an event in the form for programs.
func EventOf(e *events.Event) Event {
	return Event{e.Seq, e.Time, e.Kind, e.ID, e.Job, e.SubJob, e.Run, e.Key, e.Source, e.Trace, e.Data, string(e.Raw), e.Fault}
}

// EventPage is a part of a job's log; More is true if the log has later events.
type EventPage struct {
	Events []Event `json:"events"`
	More   bool    `json:"more"`
}

// LiveItem is a live item with the sequence of its message; 0 for one that is not stored.
type LiveItem struct {
	Seq uint64 `json:"seq,omitempty"`
	item.Item
}

// LiveItems are the live items of a job that are still stored.
type LiveItems struct {
	Items []LiveItem `json:"items"`
}

// PlanOf is the plan of a job with the results of its steps.
type PlanOf struct {
	JobID string       `json:"job_id"`
	Plan  *events.Plan `json:"plan"`
}

// BriefOf is what a run knows about its job.
type BriefOf struct {
	JobID string          `json:"job_id"`
	Brief json.RawMessage `json:"brief"`
}

// Forked is the answer to a fork: JobID is the new job, which begins at the event At of From; Kept of its Total SubJobs keep their
// results.
type Forked struct {
	JobID string `json:"job_id"`
	From  string `json:"from"`
	At    uint64 `json:"at"`
	Kept  int    `json:"kept"`
	Total int    `json:"total"`
}

// ArtifactList lists the files of a job.
type ArtifactList struct {
	Artifacts []ArtifactLine `json:"artifacts"`
}

// ArtifactLine is a file that a SubJob has handed over.
type ArtifactLine struct {
	SubJob string `json:"subjob"`
	Run    int    `json:"run,omitempty"`
	events.Ref
}

// SessionList is a page of sessions, the most recently changed first.
type SessionList struct {
	Sessions []json.RawMessage `json:"sessions"`
	Total    int               `json:"total"`
}

// SessionRecord is a session; it has more fields than these.
type SessionRecord struct {
	ID    string            `json:"id"`
	User  string            `json:"user,omitempty"`
	Title string            `json:"title,omitempty"`
	State string            `json:"state"`
	Jobs  []json.RawMessage `json:"jobs"`
}

// Conversation is a part of what was said in a session; Earlier is true if there is more before it.
type Conversation struct {
	Items   []item.Entry `json:"items"`
	Earlier bool         `json:"earlier,omitempty"`
}

// SessionStopped is the answer to the stop of a session.
type SessionStopped struct {
	ID      string   `json:"id"`
	Stopped []string `json:"stopped"`
}

// SessionDeleted is the answer to the deletion of a session.
type SessionDeleted struct {
	ID      string   `json:"id"`
	Deleted bool     `json:"deleted"`
	Jobs    []string `json:"jobs"`
}

// ScheduleRecord is a schedule; it has more fields than these.
type ScheduleRecord struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// ScheduleList is a page of schedules.
type ScheduleList struct {
	Schedules []json.RawMessage `json:"schedules"`
	Total     int               `json:"total"`
}

// UserRecord holds the settings of a person for whom jobs run, as they are stored. ID is the user as named in requests. Timezone
// is the time zone of requests and sessions that name none, an IANA name; empty for none. Updated is when the settings were changed
// last; zero if they never were.
type UserRecord struct {
	ID       string    `json:"id"`
	Timezone string    `json:"timezone,omitempty"`
	Updated  time.Time `json:"updated,omitzero"`
}

// ExpertList lists the announced experts.
type ExpertList struct {
	Experts []events.Card `json:"experts"`
}

// Letter is a dead letter or a job in quarantine, as Kind says. Since is when it was set aside; Fault is the first of its Faults.
// Subject and Body are those of the message.
type Letter struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	Since   time.Time       `json:"since"`
	Fault   events.Fault    `json:"fault"`
	Faults  []events.Fault  `json:"faults,omitempty"`
	Subject string          `json:"subject,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// LetterList lists dead letters, oldest first.
type LetterList struct {
	Letters []Letter `json:"letters"`
}

// Retried is the answer to the retry of a dead letter. JobID is its job, "" if it belongs to none.
type Retried struct {
	JobID string `json:"job_id"`
}

// HealthReport says whether the gateway is ready and which services answer. Notes are about what a restart of it does not change,
// such as a full disk of the bus.
type HealthReport struct {
	Ready    bool           `json:"ready"`
	Reasons  []HealthReason `json:"reasons"`
	Notes    []HealthReason `json:"notes,omitempty"`
	Services map[string]int `json:"services"`
}

// HealthReason says why something is not ready, or what a note is about.
type HealthReason struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// PlanReply is the result of a plan operation.
type PlanReply struct {
	Text        string            `json:"text"`
	Plan        json.RawMessage   `json:"plan,omitempty"`
	Plans       []json.RawMessage `json:"plans,omitempty"`
	Active      string            `json:"active,omitempty"`
	Request     json.RawMessage   `json:"request,omitempty"`
	JobID       string            `json:"job_id,omitempty"`
	Status      events.Status     `json:"status,omitempty"`
	PlanVersion int               `json:"plan_version,omitempty"`
}
