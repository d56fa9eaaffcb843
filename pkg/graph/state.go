package graph

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// FoldVersion is the version of the saved form. A state of another version is discarded and folded from the log.
const FoldVersion = 1

// State is a job as it is saved: readable JSON, complete enough to continue from.
type State struct {
	// Fold is the FoldVersion that wrote it.
	Fold int `json:"fold"`
	// ID, Status, Goal, Profile, Session, Thread, User and Labels are those of the job; Goal is cut at 500 bytes.
	ID      string            `json:"id"`
	Status  events.Status     `json:"status"`
	Goal    string            `json:"goal"`
	Title   string            `json:"title,omitempty"`
	Profile string            `json:"profile,omitempty"`
	Session string            `json:"session,omitempty"`
	Thread  string            `json:"thread,omitempty"`
	User    string            `json:"user,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Seq and EventID name the last event of the fold.
	Seq     uint64 `json:"seq"`
	EventID string `json:"event_id,omitempty"`
	// Created, Changed and Ended are times of the log: admission, last change of status, end.
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Ended   time.Time `json:"ended,omitzero"`
	// Error says why the job FAILED or was STOPPED.
	Error *events.Fault `json:"error,omitempty"`
	// Result is the final answer, or ResultRef if it is large. Tails are the SubJobs whose results it consists of.
	Result    json.RawMessage `json:"result,omitempty"`
	ResultRef *events.Ref     `json:"result_ref,omitempty"`
	Tails     []string        `json:"tails,omitempty"`
	// Outcome is events.OutcomeGuidance for a job that ends without a plan and says what is missing; otherwise empty.
	Outcome string `json:"outcome,omitempty"`
	// Notices are the planner's messages to the person before the SubJobs begin, at most MaxNotices.
	Notices events.Faults `json:"notices,omitempty"`
	// Counts is the number of SubJobs per status, and Progress sums them up; View and saving update both.
	Counts   map[events.Status]int `json:"counts"`
	Progress Progress              `json:"progress"`
	// Cost is what was spent so far.
	Cost events.Spent `json:"cost,omitzero"`
	// RequestSeq is the sequence of job.requested.
	RequestSeq uint64 `json:"request_seq"`
	// Turn counts the changes of status. Epoch counts the lives of the job: it is 1 at first, and one more after each
	// return from an end.
	Turn  int `json:"turn"`
	Epoch int `json:"epoch"`
	// ControlSeq is the sequence of the last event on the control subject.
	ControlSeq uint64 `json:"control_seq,omitempty"`
	// PlanVersion counts versions of the graph, 0 before the first. PlanRounds counts planning runs of the whole job,
	// InputRounds the times a SubJob sent its predecessors back to work.
	PlanVersion int `json:"plan_version"`
	PlanRounds  int `json:"plan_rounds,omitempty"`
	InputRounds int `json:"input_rounds,omitempty"`
	// Finalize is how the result is made according to the planner; otherwise the rules say it. FinalPool and FinalPure address the
	// expert that makes it, if one does.
	Finalize  string `json:"finalize,omitempty"`
	FinalPool string `json:"final_pool,omitempty"`
	FinalPure bool   `json:"final_pure,omitempty"`
	// Deadline is when the job must have ended.
	Deadline time.Time `json:"deadline,omitzero"`
	// Replanning is true while running work is awaited before the remainder is planned again.
	Replanning bool `json:"replanning,omitempty"`
	// EndOwed is true until the terminal fact is read back; EndCause is the event that caused the end; AnswerSeq an answer without
	// a graph; Reaping is true once the retention has passed.
	EndOwed   bool   `json:"end_owed,omitempty"`
	EndCause  uint64 `json:"end_cause,omitempty"`
	AnswerSeq uint64 `json:"answer_seq,omitempty"`
	Reaping   bool   `json:"reaping,omitempty"`
	// Rules are the resolved limits and policies of the job.
	Rules events.Rules `json:"rules"`
	// Facts are the facts that were published but not yet read back.
	Facts []Fact `json:"facts,omitempty"`
	// Inputs are open requests for input.
	Inputs []*InputState `json:"inputs,omitempty"`
	// Asked are the ids of closed requests: the broker closes an id once, so none can be used again.
	Asked []string `json:"asked,omitempty"`
	// SubJobs are all nodes that ever existed, planning ("~plan") first, one line each.
	SubJobs []*SubJobState `json:"subjobs"`
}

// MaxNotices limits the notices of a state; each message is cut at 500 bytes.
const MaxNotices = 16

// Progress counts SubJobs of the present graph.
type Progress struct {
	// Done counts the SubJobs that have a result or were skipped, Total all that are not legacy.
	Done  int `json:"done"`
	Total int `json:"total"`
}

// Fact is a pending fact of the scheduler itself.
type Fact struct {
	Kind events.Kind     `json:"kind"`
	Key  string          `json:"key"`
	Data json.RawMessage `json:"data"`
}

// InputState is an open request for input.
type InputState struct {
	// Request is its id; SubJob and Run say who asked.
	Request string           `json:"request"`
	SubJob  string           `json:"subjob"`
	Run     int              `json:"run"`
	Kind    events.InputKind `json:"kind"`
	// Seq is the event with the question; User is the only person who may answer.
	Seq  uint64 `json:"seq"`
	User string `json:"user,omitempty"`
	// Expires is when it closes by itself.
	Expires time.Time `json:"expires,omitzero"`
	// Closing is set while its close is pending; Default is then the answer.
	Closing events.InputAction `json:"closing,omitempty"`
	Default json.RawMessage    `json:"default,omitempty"`

	// at is its place in the list; due is true while it is among those that may have a pending command; armed and sent are what
	// this process has delivered for it.
	at               int
	due, armed, sent bool
}

// Attempt returns the number of the current or last attempt of this series, and the maximum: number is never greater than most, even
// if the limit was lowered later.
func (n *SubJobState) Attempt() (number, most int) {
	number = n.Attempts + 1
	if n.Status == events.Failed && (n.Attempts > n.RetryLimit || n.Error != nil && n.Error.Code == events.CodeNotPermitted) {
		number = max(n.Attempts, 1) // No attempt followed the last failure.
	}
	return number, max(number, n.RetryLimit+1)
}

// SubJobState is one node as it is saved.
type SubJobState struct {
	// ID is unique in the job, permanently.
	ID     string        `json:"id"`
	Status events.Status `json:"status"`
	// Expert and Pool address its work; Pure experts need no claim.
	Expert string `json:"expert,omitempty"`
	Pool   string `json:"pool,omitempty"`
	Pure   bool   `json:"pure,omitempty"`
	// Former are the pools of earlier runs, if they differ, with the last run in each.
	Former []events.Tenure `json:"former,omitempty"`
	// Title is a short heading for people.
	Title string `json:"title,omitempty"`
	// Session is the session of a handed-off SubJob; Told is how much of it was published: nothing, its start, or its end.
	Session string      `json:"session,omitempty"`
	Told    events.Kind `json:"told,omitempty"`
	// Run is the last issued run; Open is true while it is live. Mode is the kind of that run, "" for execute.
	Run  int             `json:"run,omitempty"`
	Open bool            `json:"open,omitempty"`
	Mode events.WorkKind `json:"mode,omitempty"`
	// Started and Ended are times of the log for the current version.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Deps are positions in the list of SubJobs.
	Deps []int32 `json:"deps,omitempty"`
	// Spec is where its text is, Hash a digest of that text.
	Spec Spec   `json:"spec,omitzero"`
	Hash uint64 `json:"hash,omitempty"`
	// LifeCycle, RetryLimit and Timeout are its limits; Attempts counts errors of this series, Rounds its complaints about inputs.
	LifeCycle  int             `json:"life_cycle,omitempty"`
	RetryLimit int             `json:"retry_limit,omitempty"`
	Timeout    events.Duration `json:"timeout,omitempty"`
	Attempts   int             `json:"attempts,omitempty"`
	Rounds     int             `json:"rounds,omitempty"`
	// When is its condition. Selects are the paths that conditions of others read in its result, and Selected their
	// values.
	When     string                     `json:"when,omitempty"`
	Selects  []string                   `json:"selects,omitempty"`
	Selected map[string]json.RawMessage `json:"selected,omitempty"`
	// ResultSeq and ResultRun say where the result is; Given is true if it came with the plan; Skipped if the condition was false.
	ResultSeq uint64 `json:"result_seq,omitempty"`
	ResultRun int    `json:"result_run,omitempty"`
	Given     bool   `json:"given,omitempty"`
	Skipped   bool   `json:"skipped,omitempty"`
	// Lessons and Answers are sequences of the events that hold them. ResumeOf is the run to continue.
	Lessons  []uint64 `json:"lessons,omitempty"`
	Answers  []uint64 `json:"answers,omitempty"`
	ResumeOf int      `json:"resume_of,omitempty"`
	// RetryAt and FenceAt delay the next run; Closing is a run that is being closed, Fenced the run behind FenceAt.
	RetryAt time.Time `json:"retry_at,omitzero"`
	FenceAt time.Time `json:"fence_at,omitzero"`
	Closing int       `json:"closing,omitempty"`
	Fenced  int       `json:"fenced,omitempty"`
	// CloseReason is why the last closed run was closed.
	CloseReason string `json:"close_reason,omitempty"`
	// Request is the open request for input it waits for.
	Request string `json:"request,omitempty"`
	// Error says why it FAILED or was STOPPED. Late is a report that arrived after its run was over.
	Error *events.Fault `json:"error,omitempty"`
	Late  uint64        `json:"late,omitempty"`
	// Versions are the replaced results, oldest first. ReplacedBy are the tails that replace a split node.
	Versions   []Version `json:"versions,omitempty"`
	ReplacedBy []int32   `json:"replaced_by,omitempty"`
}

// PoolOf returns the pool of the expert that a run was assigned to. Runs of planning always belong to the planner.
func (n *SubJobState) PoolOf(run int) string {
	for _, t := range n.Former {
		if run <= t.Run {
			return t.Pool
		}
	}
	return n.Pool
}

// Version is a former result of a SubJob, kept for audit.
type Version struct {
	Run    int           `json:"run"`
	Status events.Status `json:"status"`
	Seq    uint64        `json:"seq,omitempty"`
	// Reason is upstream_rerun, rerun, recover, replan or edit.
	Reason string `json:"reason"`
	// Cause is the event that replaced this result.
	Cause uint64 `json:"cause"`
}
