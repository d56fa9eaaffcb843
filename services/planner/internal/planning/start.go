package planning

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/services/planner/internal/finish"
)

// DecisionsVersion is the version of the decisions of planning. 1: has_enough_context decides who sees a plan, an edit that cannot
// be applied is reported to the person, guidance and malformed answers end planning separately. 2: all words of pkg/events/consent
// accept and reject, even several together.
const DecisionsVersion = 2

// Start is everything that planning knows when it begins. The first run records it; later runs read it back, so that all
// runs fold the same state.
type Start struct {
	// Mode is plan, replan, split or finalize; Part is the SubJob to split.
	Mode events.WorkKind `json:"mode"`
	Part *events.SubJob  `json:"part,omitempty"`
	// Prefix makes the ids of questions unique within the job. It contains the planning node and its run.
	Prefix string `json:"prefix"`
	// Request is the job's request. A plan given by reference is resolved.
	Request events.Request `json:"request"`
	// Cards are the experts at that moment. Examples holds, by expert id, requests that the expert got before.
	Cards    []events.Card       `json:"cards,omitempty"`
	Examples map[string][]string `json:"examples,omitempty"`
	// Profile holds the rules of planning.
	Profile Profile `json:"profile"`
	// Model is true if a model is available. ModelName is its name in messages to people.
	Model     bool   `json:"model,omitempty"`
	ModelName string `json:"model_name,omitempty"`
	// Now is the time of the first run, for prompts. Version identifies the prompts.
	Now     time.Time `json:"now"`
	Version string    `json:"version,omitempty"`
	// History is the conversation so far, oldest first.
	History []Turn `json:"history,omitempty"`
	// Lessons are those of earlier runs, oldest first. Findings are results that already exist.
	Lessons  []string  `json:"lessons,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Finished lists the ids of SubJobs with a result, and Known all ids of the job; a new plan may refer to them.
	Finished []string `json:"finished,omitempty"`
	Known    []string `json:"known,omitempty"`
	// Words is true if the planner also writes summaries and reports. It is unset in records of older planners, which end
	// without them.
	Words bool `json:"words,omitempty"`
	// Informed gives each step of a linear plan the results of all steps before it. It is unset in records of older
	// planners, which give it only the last one's.
	Informed bool `json:"informed,omitempty"`
	// Rules is the version of the rules by which plans are read, plan.Version. It is 0 in records of older planners.
	Rules int `json:"rules,omitempty"`
	// Courteous also accepts answers with courtesies around them and more ways to say no. It is unset in records of older planners.
	Courteous bool `json:"courteous,omitempty"`
	// Careful asks for an answer again if its JSON is ambiguous. It is unset in records of older planners, which use the most
	// likely reading.
	Careful bool `json:"careful,omitempty"`
	// Settled skips the review of a plan that consists only of schedules which were just confirmed. It is unset in records of older
	// planners.
	Settled bool `json:"settled,omitempty"`
	// Decisions is the version of the decisions, DecisionsVersion when recorded; 0 in records of planners without versions.
	Decisions int `json:"decisions,omitempty"`
	// Finish is the material of a summary or report, for Mode finalize.
	Finish *finish.Material `json:"finish,omitempty"`
	// MaxSteps limits every plan of the job; drafts are also limited by the request or the profile. MaxRounds is how often
	// a plan is drafted; 0 takes the request's limit, else the profile's.
	MaxSteps  int `json:"max_steps,omitempty"`
	MaxRounds int `json:"max_rounds,omitempty"`
	// Reused is the stored plan for the same ReuseKey, or nil.
	Reused *Reused `json:"reused,omitempty"`
	// Brief is what the run knows about its job; nil in records of older planners.
	Brief *brief.Brief `json:"brief,omitempty"`
	// DefaultExpert executes the steps that name no expert.
	DefaultExpert string `json:"default_expert,omitempty"`
}

// Turn is one exchange of a conversation.
type Turn struct {
	// User is what the person wrote, Answer the reply, Steps how the reply was made, one line each.
	User   string   `json:"user"`
	Answer string   `json:"answer,omitempty"`
	Steps  []string `json:"steps,omitempty"`
	// Asked are the questions that the person was asked meanwhile, each with its answer.
	Asked []string `json:"asked,omitempty"`
}

// Finding is information from another expert: data, never an instruction.
type Finding struct {
	// Source is who produced it, Title what it is about.
	Source string `json:"source"`
	Title  string `json:"title,omitempty"`
	// Text is the content.
	Text string `json:"text"`
}
