package planning

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Profile is one way of planning, as data: which stages run, in which form plans are written, what is asked of people, and
// what happens when a model gives nothing usable. Package profile reads profiles from files.
type Profile struct {
	// Name and Version identify it in events and metrics; nothing branches on either.
	Name    string `json:"name"`
	Version int    `json:"version,omitempty"`
	// Stages lists the optional stages that run: triage, clarify, investigate, confirm, review.
	Stages []Stage `json:"stages,omitempty"`
	// Dialect is the form in which the model is asked for plans; any is understood.
	Dialect string `json:"dialect,omitempty"`
	// Prompts names the prompt of a stage where it is not the stage's own name.
	Prompts map[string]string `json:"prompts,omitempty"`
	// Locale is taken when neither request nor text tells another; Finalize where the request says nothing.
	Locale   string `json:"locale,omitempty"`
	Finalize string `json:"finalize,omitempty"`
	// Cache is how long a plan serves the next request that is the same, where the request does not say otherwise; 0 plans
	// every request.
	Cache events.Duration `json:"cache,omitempty"`
	// Limits bound the loops.
	Limits Limits `json:"limits"`
	// Triage, Review, Schedule and Plan are the rules of those stages.
	Triage   TriageRules   `json:"triage,omitzero"`
	Review   ReviewRules   `json:"review,omitzero"`
	Schedule ScheduleRules `json:"schedule,omitzero"`
	Plan     PlanRules     `json:"plan,omitzero"`
	// Investigate says who looks around before planning.
	Investigate InvestigateRules `json:"investigate,omitzero"`
	// Fallback lists what is tried, in order, when no draft is valid.
	Fallback []Rung `json:"fallback,omitempty"`
}

// Limits bound every loop of planning. Zero means none of it, not without end.
type Limits struct {
	// Clarifications is how many questions about the request are asked.
	Clarifications int `json:"clarifications,omitempty"`
	// Repairs is how many more drafts are asked for when one is faulty.
	Repairs int `json:"repairs,omitempty"`
	// Rounds is how often the plan is drafted, the first time and after edits; the request may set it.
	Rounds int `json:"rounds,omitempty"`
	// Reminders is how often a question is repeated when the answer is not understood.
	Reminders int `json:"reminders,omitempty"`
	// Steps is the most SubJobs of a plan; the request may set it.
	Steps int `json:"steps,omitempty"`
	// HistoryBytes, FindingBytes and RawBytes bound what of the conversation, of findings and of a faulty draft goes into
	// one prompt.
	HistoryBytes int `json:"history_bytes,omitempty"`
	FindingBytes int `json:"finding_bytes,omitempty"` // FindingBytes bounds all findings together.
	RawBytes     int `json:"raw_bytes,omitempty"`     // RawBytes bounds the faulty draft.
}

// TriageRules say what becomes of a triage that cannot be read.
type TriageRules struct {
	// Unreadable is "plan" (default: go on with the request as it is), "answer" (plain text is the answer) or "guidance"
	// (tell the person that the model's response is malformed).
	Unreadable string `json:"unreadable,omitempty"`
}

// ReviewRules say when a person sees the plan first, and what silence means.
type ReviewRules struct {
	// When is "request" (default: where the request's auto_accept is false), "always" or "never".
	When string `json:"when,omitempty"`
	// Expires is how long questions stay open, 0 for ever; OnExpiry is "reject" (default) or "accept".
	Expires  events.Duration `json:"expires,omitempty"`
	OnExpiry string          `json:"on_expiry,omitempty"`
	// AtLimit is what an edit beyond the last round does: "ask" (default: accept or reject), "accept" or "reject".
	AtLimit string `json:"at_limit,omitempty"`
}

// ScheduleRules are about plans that recur.
type ScheduleRules struct {
	// Capabilities are words one of which an expert's card must have to recur; none allows every expert.
	Capabilities []string `json:"capabilities,omitempty"`
	// Strip takes words about time out of the goal of what recurs.
	Strip bool `json:"strip,omitempty"`
}

// PlanRules are about reading and judging drafts.
type PlanRules struct {
	// Enough is what a draft without steps that has enough context becomes: "step" (one step for the best expert), "answer"
	// (its thought) or "" (a fault). With steps, they are executed.
	Enough string `json:"enough,omitempty"`
	// Inadequate is what a draft that says it needs more becomes: "answer" (default: its guidance is the answer), "ask" or
	// "reject".
	Inadequate string `json:"inadequate,omitempty"`
	// Search makes sure that at least one step looks something up.
	Search bool `json:"search,omitempty"`
	// Handoff gives every step of a plan that a model wrote a session of its own, in the thread of the request.
	Handoff bool `json:"handoff,omitempty"`
}

// InvestigateRules say who looks around before planning.
type InvestigateRules struct {
	// When is "request" (default: where the request's investigate is true), "always" or "never".
	When string `json:"when,omitempty"`
	// Expert is who does it, by id or name; without one there, the one that has the capability Needs, else whose name, id or
	// skill ends in Tool. Status are experts that tell the state of the system, by id, name or such an ending; those that
	// are there are asked for every plan. A hidden expert may be asked by name.
	Expert string   `json:"expert,omitempty"`
	Needs  string   `json:"needs,omitempty"`
	Tool   string   `json:"tool,omitempty"`
	Status []string `json:"status,omitempty"`
	// Timeout is how long planning waits for all of them together; 0 means DefaultInvestigation.
	Timeout events.Duration `json:"timeout,omitempty"`
}

// Bounds of the wait for those who look around: planning holds its work for so long, and no longer.
const (
	DefaultInvestigation = 2 * time.Minute
	MaxInvestigation     = 10 * time.Minute
)

// Rung is one step of the fallback ladder.
type Rung string

// The rungs.
const (
	RungEarlier  Rung = "earlier"     // A valid plan of an earlier round.
	RungSingle   Rung = "single"      // One SubJob with the whole goal, for the best expert.
	RungSteps    Rung = "three_steps" // Three steps: analyse, execute, verify.
	RungGuidance Rung = "guidance"    // A rejection whose first fault tells the person what to do, in his language.
)

// Rungs lists all of them.
func Rungs() []Rung { return []Rung{RungEarlier, RungSingle, RungSteps, RungGuidance} }
