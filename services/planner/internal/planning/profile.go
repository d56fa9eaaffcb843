package planning

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Profile is one way of planning, as data: which stages run, the form of plans, which questions people get, and what
// happens when a model returns nothing usable. Package profile reads profiles from files.
type Profile struct {
	// Name and Version identify the profile in events and metrics; no code branches on them.
	Name    string `json:"name"`
	Version int    `json:"version,omitempty"`
	// Stages lists the optional stages that run: triage, clarify, investigate, confirm, review.
	Stages []Stage `json:"stages,omitempty"`
	// Dialect is the form in which the model is asked for plans; all forms are understood.
	Dialect string `json:"dialect,omitempty"`
	// Prompts overrides the prompt of a stage; the default is the stage's own name.
	Prompts map[string]string `json:"prompts,omitempty"`
	// Locale is used if neither the request nor its text indicates another; Finalize if the request does not set it.
	Locale   string `json:"locale,omitempty"`
	Finalize string `json:"finalize,omitempty"`
	// Cache is how long a plan may serve identical requests, if the request does not say otherwise; 0 plans every request.
	Cache events.Duration `json:"cache,omitempty"`
	// Knowledge names the bases of knowledge in which a request is looked up before planning: session, user, or global ones.
	Knowledge []string `json:"knowledge,omitempty"`
	// Limits bounds the loops.
	Limits Limits `json:"limits"`
	// Triage, Review, Schedule and Plan are the rules of those stages.
	Triage   TriageRules   `json:"triage,omitzero"`
	Review   ReviewRules   `json:"review,omitzero"`
	Schedule ScheduleRules `json:"schedule,omitzero"`
	Plan     PlanRules     `json:"plan,omitzero"`
	// Investigate says which experts are asked for information before planning.
	Investigate InvestigateRules `json:"investigate,omitzero"`
	// Citations is what happens to sources in a written result that nothing in the job contains: "mark" (default), "remove" or
	// "keep".
	Citations string `json:"citations,omitempty"`
	// FailurePolicy says what happens when a step has failed finally, if the request does not; empty leaves it to the job.
	FailurePolicy events.FailurePolicy `json:"failure_policy,omitempty"`
	// Fallback lists the fallback levels in the order in which they are tried when no draft is valid.
	Fallback []Rung `json:"fallback,omitempty"`
}

// Limits bounds every loop of planning. Zero means none, not unlimited.
type Limits struct {
	// Clarifications is how many questions about the request may be asked.
	Clarifications int `json:"clarifications,omitempty"`
	// Repairs is how many further drafts may be asked for when one is faulty.
	Repairs int `json:"repairs,omitempty"`
	// Rounds is how often the plan may be drafted: the first time and after each edit. The request may set it.
	Rounds int `json:"rounds,omitempty"`
	// Reminders is how often a question is repeated if the answer is not understood.
	Reminders int `json:"reminders,omitempty"`
	// Steps is the most SubJobs that a plan may have; the request may set it.
	Steps int `json:"steps,omitempty"`
	// HistoryBytes limits the conversation in one prompt.
	HistoryBytes int `json:"history_bytes,omitempty"`
	FindingBytes int `json:"finding_bytes,omitempty"` // All findings in one prompt together.
	RawBytes     int `json:"raw_bytes,omitempty"`     // A faulty draft in one prompt.
}

// TriageRules say what happens if a triage cannot be parsed.
type TriageRules struct {
	// Unreadable is "plan" (default: continue with the request as it is), "answer" (use plain text as the answer) or
	// "guidance" (tell the person that the model's response is malformed).
	Unreadable string `json:"unreadable,omitempty"`
	// Direct keeps triage from asking questions: unclear requests go to the planner.
	Direct bool `json:"direct,omitempty"`
}

// ReviewRules say when a person sees the plan before it runs, and what no answer means.
type ReviewRules struct {
	// When is "request" (default: if the request's auto_accept is false), "always" or "never".
	When string `json:"when,omitempty"`
	// Expires is how long questions stay open, 0 for ever; OnExpiry is "reject" (default) or "accept".
	Expires  events.Duration `json:"expires,omitempty"`
	OnExpiry string          `json:"on_expiry,omitempty"`
	// Unanswered is what planning does if something is missing and no person supplies it: events.Assume (default) or
	// events.FailUnanswered. The request may set it.
	Unanswered events.Unanswered `json:"unanswered,omitempty"`
	// AtLimit is what an edit does when no round is left: "ask" (default: accept or reject), "accept" or "reject".
	AtLimit string `json:"at_limit,omitempty"`
}

// ScheduleRules are the rules of plans with recurring steps.
type ScheduleRules struct {
	// Capabilities lists words; an expert may recur only if its card has one of them. An empty list allows every expert.
	Capabilities []string `json:"capabilities,omitempty"`
	// Strip removes words about time from the goals of recurring steps.
	Strip bool `json:"strip,omitempty"`
}

// PlanRules are the rules of reading and checking drafts.
type PlanRules struct {
	// Enough is what a draft without steps but with enough context becomes: "step" (one step for the best expert), "answer"
	// (its thought) or "" (a fault). A draft with steps is executed.
	Enough string `json:"enough,omitempty"`
	// Inadequate is what a draft that says it needs more becomes: "answer" (default: its guidance is the answer), "ask" or
	// "reject".
	Inadequate string `json:"inadequate,omitempty"`
	// Search makes sure that at least one step searches for information.
	Search bool `json:"search,omitempty"`
	// Handoff gives every step of a model's plan a separate session, in the thread of the request.
	Handoff bool `json:"handoff,omitempty"`
}

// InvestigateRules say which experts are asked for information before planning.
type InvestigateRules struct {
	// When is "request" (default: if the request's investigate is true), "always" or "never".
	When string `json:"when,omitempty"`
	// Expert is the expert to ask, by id or name. If it is not available, the one with the capability Needs is asked, else
	// the one whose name, id or skill ends in Tool. Status lists experts that report the state of the system, by id, name
	// or such an ending; those available are asked for every plan. A hidden expert may be asked by name.
	Expert string   `json:"expert,omitempty"`
	Needs  string   `json:"needs,omitempty"`
	Tool   string   `json:"tool,omitempty"`
	Status []string `json:"status,omitempty"`
	// Timeout is how long planning waits for all of them together; 0 means DefaultInvestigation.
	Timeout events.Duration `json:"timeout,omitempty"`
}

// Limits of an investigation. Planning holds its work message for that long.
const (
	DefaultInvestigation = 2 * time.Minute
	MaxInvestigation     = 10 * time.Minute
)

// Rung is one fallback level.
type Rung string

// The fallback levels.
const (
	RungEarlier  Rung = "earlier"     // A valid plan of an earlier round.
	RungSingle   Rung = "single"      // One SubJob with the whole goal, for the best expert.
	RungSteps    Rung = "three_steps" // Three steps: analyse, execute, verify.
	RungGuidance Rung = "guidance"    // A rejection whose first fault tells the person what to do, in their language.
)

// Rungs lists all fallback levels.
func Rungs() []Rung { return []Rung{RungEarlier, RungSingle, RungSteps, RungGuidance} }
