package brief

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

// Version is the version of the form that this package writes.
const Version = 1

// Limits of a brief in a work message. The blob of brief_ref holds what exceeds them, or the brief only counts it.
const (
	MaxRequest    = 1 << 10 // Bytes of goal and context together.
	MaxPlan       = 2 << 10 // Bytes of all steps of the plan, as JSON; a longer list of steps is left out.
	MaxTitle      = 120     // The bytes of a title.
	MaxName       = 120     // The bytes of an input's name; at most MaxNames are listed.
	MaxNames      = 16
	MaxNeighbours = 8   // Predecessors, and successors, that are listed.
	MaxLessons    = 4   // The number of lessons, of which the newest are kept.
	MaxLesson     = 400 // The bytes of a lesson.
)

// Brief is what a run knows about its job.
type Brief struct {
	V       int     `json:"v"`               // V is the version of the form, Version when written.
	Job     string  `json:"job"`             // Job is the id of the job.
	Request Request `json:"request"`         // Request is what the person asked for.
	Plan    *Plan   `json:"plan,omitempty"`  // Plan is the present plan; nil before there is one.
	Place   *Place  `json:"place,omitempty"` // Place is where the step of this run stands in the plan; nil for work on the whole job.
	Marks   *Marks  `json:"marks,omitempty"` // Marks counts the steps of the plan by status.
	// Predecessors and Successors are the direct neighbours of the step, at most MaxNeighbours each. MorePredecessors and
	// MoreSuccessors count the others.
	Predecessors     []Step `json:"predecessors,omitempty"`
	MorePredecessors int    `json:"more_predecessors,omitempty"`
	Successors       []Step `json:"successors,omitempty"`
	MoreSuccessors   int    `json:"more_successors,omitempty"`
	// Lessons are the newest of those in the work message, oldest first, each cut at MaxLesson bytes.
	Lessons  []string     `json:"lessons,omitempty"`
	Locale   string       `json:"locale,omitempty"`   // Locale is the language of goals and answers, BCP 47.
	Timezone string       `json:"timezone,omitempty"` // Timezone is the time zone of the request, an IANA name.
	Deadline time.Time    `json:"deadline,omitzero"`  // Deadline is when the job must have ended; zero if there is none.
	Budget   events.Spent `json:"budget,omitzero"`    // Budget is what the job could still spend when the work was issued; zero means no limit.
	// Tools is what the request changes about the tools of agents; nil for nothing.
	Tools *toolset.Change `json:"tools,omitempty"`
	// Session, Thread and User are those of the request; a handed-off step has a session of its own.
	Session string `json:"session,omitempty"`
	Thread  string `json:"thread,omitempty"`
	User    string `json:"user,omitempty"`
}

// Request is what the person asked for. A shortened text ends with "…"; then the work message has a brief_ref.
type Request struct {
	Goal    string `json:"goal,omitempty"`    // Goal is the goal of the request; empty if it came with a plan and without one.
	Context string `json:"context,omitempty"` // Context is what came with the goal.
	// Inputs are the names of the job's inputs, sorted, and Attachments the names of its files, at most MaxNames each. The work
	// message holds the inputs and files themselves.
	Inputs      []string `json:"inputs,omitempty"`
	Attachments []string `json:"attachments,omitempty"`
}

// Plan is the plan of the job at the time when the work was issued.
type Plan struct {
	Version int    `json:"version,omitempty"` // Version counts the versions of the graph, from 1.
	Title   string `json:"title,omitempty"`   // Title is the plan's title.
	// Steps are its steps in the order of the work, predecessors first. They are left out of a work message if they exceed
	// MaxPlan; First is the place of the first listed one if the list does not begin at 1.
	Steps []Step `json:"steps,omitempty"`
	First int    `json:"first,omitempty"`
}

// Step is one step of a plan.
type Step struct {
	ID     string `json:"id"`               // ID is the id of the SubJob.
	Title  string `json:"title,omitempty"`  // Title is its title, else the beginning of its goal, in one line.
	Status Status `json:"status,omitempty"` // Status is the step's status when the work was issued; empty in the blob of brief_ref.
}

// Place is the position of a step in the plan.
type Place struct {
	Step
	N  int `json:"n"`  // N is its number in the order of the work, from 1.
	Of int `json:"of"` // Of is the number of steps in the plan.
}

// Status says whether a step has been done.
type Status string

// The statuses of steps.
const (
	NotStarted Status = "not_started"
	InProgress Status = "in_progress"
	Completed  Status = "completed" // It has a result, or was skipped because its condition is false.
	Blocked    Status = "blocked"   // It failed or was stopped.
)

// StatusOf returns the status of a step from that of its SubJob; empty if it is no longer part of the plan.
func StatusOf(s events.Status) Status {
	switch s {
	case events.Created, events.Ready:
		return NotStarted
	case events.Running, events.Waiting:
		return InProgress
	case events.Finished:
		return Completed
	case events.Failed, events.Stopped:
		return Blocked
	}
	return ""
}

// Marks counts the steps of a plan by status.
type Marks struct {
	// Completed, InProgress, NotStarted and Blocked are the numbers of steps with these statuses.
	Completed  int `json:"completed"`
	InProgress int `json:"in_progress"`
	NotStarted int `json:"not_started"`
	Blocked    int `json:"blocked"`
}

// Count adds n steps with a status.
func (m *Marks) Count(s Status, n int) {
	switch s {
	case Completed:
		m.Completed += n
	case InProgress:
		m.InProgress += n
	case NotStarted:
		m.NotStarted += n
	case Blocked:
		m.Blocked += n
	}
}

// Rest is what the blob of brief_ref holds if the brief itself stands in the work message.
type Rest struct {
	Request *Request `json:"request,omitempty"` // Request replaces the brief's.
	Plan    *Plan    `json:"plan,omitempty"`    // Plan replaces the brief's. Its steps have no status.
}

// Read decodes a brief: inline is that of the work message, blob that of its brief_ref. Either may be empty; without both the brief
// is nil. Steps from the blob get the statuses that are known inline.
func Read(inline, blob json.RawMessage) (*Brief, error) {
	if len(inline)+len(blob) == 0 {
		return nil, nil
	}
	b := &Brief{}
	if len(inline) == 0 {
		inline, blob = blob, nil // The brief did not fit into the message.
	}
	if err := json.Unmarshal(inline, b); err != nil {
		return nil, fmt.Errorf("read brief: %w", err)
	}
	if len(blob) == 0 {
		return b, nil
	}
	rest, err := ReadRest(blob)
	if err != nil {
		return nil, err
	}
	b.Complete(rest, len(blob)) // A step takes more than one byte, so this keeps all of them.
	return b, nil
}

// ReadRest decodes the blob of a brief_ref.
func ReadRest(blob json.RawMessage) (*Rest, error) {
	rest := &Rest{}
	if err := json.Unmarshal(blob, rest); err != nil {
		return nil, fmt.Errorf("read the rest of a brief: %w", err)
	}
	return rest, nil
}

// Complete fills in what was left out. Of a plan that has more steps than most, it keeps those around the step of the brief. It
// does not change rest; nil changes only the number of steps.
func (b *Brief) Complete(rest *Rest, most int) {
	if rest == nil {
		rest = &Rest{}
	}
	if rest.Request != nil {
		b.Request = *rest.Request
	}
	if rest.Plan == nil {
		b.near(b.Plan, most)
		return
	}
	known := b.statuses()
	b.near(rest.Plan, most)
	for i := range b.Plan.Steps {
		if s := &b.Plan.Steps[i]; s.Status == "" {
			s.Status = known[s.ID]
		}
	}
}

// statuses returns the statuses of the listed steps, by id.
func (b *Brief) statuses() map[string]Status {
	known := map[string]Status{}
	lists := [][]Step{b.Predecessors, b.Successors}
	if b.Plan != nil {
		lists = append(lists, b.Plan.Steps)
	}
	if b.Place != nil {
		lists = append(lists, []Step{b.Place.Step})
	}
	for _, list := range lists {
		for i := range list {
			known[list[i].ID] = list[i].Status
		}
	}
	return known
}

// near gives the brief a plan. Of a plan that has more steps than most, it keeps those around the step of the brief.
func (b *Brief) near(p *Plan, most int) {
	if p == nil {
		return
	}
	near := *p
	first, start := max(p.First, 1), 0
	if len(p.Steps) > most {
		at := 0
		if b.Place != nil {
			at = b.Place.N - first
		}
		start = min(max(at-most/2, 0), len(p.Steps)-most)
	}
	near.Steps = slices.Clone(p.Steps[start:min(start+most, len(p.Steps))])
	if near.First = first + start; near.First == 1 {
		near.First = 0
	}
	b.Plan = &near
}

// Adds reports whether a brief says more about the job than this goal and context of a step do.
func (b *Brief) Adds(goal, context string) bool {
	return b.Request.Goal != goal || !strings.Contains(context, b.Request.Context) || b.Place != nil && b.Place.Of > 1
}

// The names of the fields that say for whom the work is done.
const (
	FieldSession = "session"
	FieldThread  = "thread"
	FieldUser    = "user"
)

// Share removes the fields that say for whom the work is done, except the given ones.
func (b *Brief) Share(fields []string) {
	for name, field := range map[string]*string{FieldSession: &b.Session, FieldThread: &b.Thread, FieldUser: &b.User} { // any order: the fields are independent.
		if !slices.Contains(fields, name) {
			*field = ""
		}
	}
}
