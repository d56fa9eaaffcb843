package verb

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Graph is the graph of a job at an event, without planning and finalising. The service on the bus returns job_id, status,
// plan_version and, for each SubJob, id, status, title, expert, run and dependencies; the HTTP route returns all of it.
type Graph struct {
	JobID       string        `json:"job_id"`
	Status      events.Status `json:"status"`
	PlanVersion int           `json:"plan_version"`
	SubJobs     []Node        `json:"subjobs"`
	// Title and Goal are those of the job; Goal is cut.
	Title string `json:"title,omitempty"`
	Goal  string `json:"goal,omitempty"`
	// User is the user for whom the job runs.
	User string `json:"user,omitempty"`
	// Seq is the last event of the log that the graph contains, and Time its time; Head is the last event there is.
	Seq  uint64    `json:"seq,omitempty"`
	Time time.Time `json:"time,omitzero"`
	Head uint64    `json:"head,omitempty"`
	// Partial is true if only what changed since an event is included: SubJobs and Replaced, without Edges and Versions.
	Partial bool `json:"partial,omitempty"`
	// Created and Ended are times of the log.
	Created time.Time `json:"created,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Width and Height are the size of the picture in pixels.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
	// Edges run from one SubJob to another, given by their positions in SubJobs, and then through points: from, to, x, y, x, y, …
	Edges [][]int `json:"edges,omitempty"`
	// Planning and Finalizing are the SubJobs that make the plan and the result; they have no place.
	Planning   *Node `json:"planning,omitempty"`
	Finalizing *Node `json:"finalizing,omitempty"`
	// Replaced are SubJobs that are no longer part of the graph; they have no place.
	Replaced []Node `json:"replaced,omitempty"`
	// Counts is how many SubJobs have each state.
	Counts map[string]int `json:"counts,omitempty"`
	// Cost is what the job has spent.
	Cost *Cost `json:"cost,omitempty"`
	// Versions are those of the graph, oldest first.
	Versions []PlanVersion `json:"versions,omitempty"`
	// Questions are the requests for input that are open.
	Questions []OpenQuestion `json:"questions,omitempty"`
}

// Node is a SubJob in a graph.
type Node struct {
	ID     string        `json:"id"`
	Status events.Status `json:"status"`
	// State is how a picture shows it: planned, ready, running, waiting, finished, failed, stopped, skipped or replaced.
	State  string   `json:"state,omitempty"`
	Title  string   `json:"title,omitempty"`
	Expert string   `json:"expert,omitempty"`
	Pool   string   `json:"pool,omitempty"`
	Run    int      `json:"run,omitempty"`
	Deps   []string `json:"dependencies,omitempty"`
	*Box
	// Version is the version of the graph that added it.
	Version int `json:"version,omitempty"`
	// Owner is the worker of its latest run. Ready, Started and Ended are times of the log.
	Owner   string    `json:"owner,omitempty"`
	Ready   time.Time `json:"ready_at,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Attempt is the number of the current or latest attempt, of at most Attempts.
	Attempt  int `json:"attempt,omitempty"`
	Attempts int `json:"attempts,omitempty"`
	// Tokens and CostUSD are what its runs have spent.
	events.Spent
	// Lessons and Artifacts count those of its runs and of its result.
	Lessons   int `json:"lessons,omitempty"`
	Artifacts int `json:"artifacts,omitempty"`
	// Request is the request for input that it waits for; WaitUntil is when it continues by itself.
	Request   string    `json:"request,omitempty"`
	WaitUntil time.Time `json:"wait_until,omitzero"`
	// Reason says why it failed, was stopped or skipped.
	Reason string `json:"reason,omitempty"`
	// Progress is its latest milestone.
	Progress *events.SubJobProgressed `json:"progress,omitempty"`
	// ReplacedIn is the version of the graph that removed it, ReplacedBy the SubJobs that replaced it.
	ReplacedIn int      `json:"replaced_in,omitempty"`
	ReplacedBy []string `json:"replaced_by,omitempty"`
}

// Box is the place of a SubJob in a picture, in pixels from the top left. Rank is the length of the longest path to it. SubJobs of
// one Group can be shown as one; its text is for people.
type Box struct {
	X     int    `json:"x"`
	Y     int    `json:"y"`
	W     int    `json:"w,omitempty"`
	H     int    `json:"h,omitempty"`
	Rank  int    `json:"rank"`
	Group string `json:"group,omitempty"`
}

// Cost is an amount that was spent; zeros are written as well.
type Cost struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// PlanVersion is a version of a graph. Seq and Time are those of the event that introduced it; By says who made it. Added and
// Removed are ids of SubJobs, empty for the first version.
type PlanVersion struct {
	Version int       `json:"plan_version"`
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Total   int       `json:"total"`
	By      string    `json:"by,omitempty"`
	Added   []string  `json:"added,omitempty"`
	Removed []string  `json:"removed,omitempty"`
}

// OpenQuestion is a request for input that was open at an event.
type OpenQuestion struct {
	Request string           `json:"request"`
	SubJob  string           `json:"subjob"`
	Kind    events.InputKind `json:"kind"`
	User    string           `json:"user,omitempty"`
	Expires time.Time        `json:"expires,omitzero"`
}

// Timeline is what a job's graph looked like at every event of its log. Times are in milliseconds since Created.
type Timeline struct {
	JobID   string        `json:"job_id"`
	Status  events.Status `json:"status"`
	Title   string        `json:"title,omitempty"`
	Goal    string        `json:"goal,omitempty"`
	Seq     uint64        `json:"seq"`
	Time    time.Time     `json:"time"`
	Created time.Time     `json:"created"`
	Ended   time.Time     `json:"ended,omitzero"`
	// IDs are all SubJobs that ever existed.
	IDs []string `json:"ids"`
	// Events are the events of the log: sequence, milliseconds, kind.
	Events [][]any `json:"events"`
	// Layouts are the versions of the graph, each valid from its event on until the next one.
	Layouts []Picture `json:"layouts"`
	// Moves are the changes of SubJobs: sequence, position in IDs, state, run.
	Moves [][]any `json:"moves"`
	// StatusMoves are the changes of the job: sequence, status.
	StatusMoves [][]any `json:"status_moves"`
	// Runs are the runs of all SubJobs, in the order in which they were issued.
	Runs []RunLine `json:"runs"`
	// Calls are those of models, tools and services, if they were asked for.
	Calls []CallLine `json:"calls,omitempty"`
}

// Picture is one version of a graph with places.
type Picture struct {
	Seq         uint64       `json:"seq"`
	PlanVersion int          `json:"plan_version"`
	Width       int          `json:"width"`
	Height      int          `json:"height"`
	SubJobs     []PictureBox `json:"subjobs"`
	Edges       [][]int      `json:"edges"`
}

// PictureBox is a SubJob in a Picture. Version is the version of the graph that added it.
type PictureBox struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Expert string `json:"expert,omitempty"`
	Box
	Version int `json:"version,omitempty"`
}

// RunLine is a run of a SubJob: Queued is when it was issued, Started when a worker began, Ended when it was over; nil if unknown.
// Seq is the event that ended it, Outcome its outcome; a run that parked to wait for a person or a time has the outcome "waiting".
type RunLine struct {
	SubJob  string `json:"subjob"`
	Run     int    `json:"run"`
	Queued  *int64 `json:"queued,omitempty"`
	Started *int64 `json:"started,omitempty"`
	Ended   *int64 `json:"ended,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Owner   string `json:"owner,omitempty"`
	events.Spent
	Seq uint64 `json:"seq,omitempty"`
}

// CallLine is a call that a run made.
type CallLine struct {
	SubJob  string `json:"subjob"`
	Run     int    `json:"run"`
	Name    string `json:"name"`
	Model   string `json:"model,omitempty"`
	Begun   int64  `json:"begun"`
	TookMS  int64  `json:"took_ms,omitempty"`
	Outcome string `json:"outcome"`
	events.Spent
}
