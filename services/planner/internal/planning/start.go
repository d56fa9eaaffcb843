package planning

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/finish"
)

// Start is everything that planning knows before it asks. It is recorded once, with the first run, and read back
// by every later one, so that they all fold the same.
type Start struct {
	// Mode is plan, replan, split or finalize; Part is the SubJob to be split.
	Mode events.WorkKind `json:"mode"`
	Part *events.SubJob  `json:"part,omitempty"`
	// Prefix makes the ids of questions unique within the job: name the planning node and its run in it.
	Prefix string `json:"prefix"`
	// Request is the job's, with its plan resolved when that went by reference.
	Request events.Request `json:"request"`
	// Cards are the experts at that moment; Examples are things each of them was asked before, by id.
	Cards    []events.Card       `json:"cards,omitempty"`
	Examples map[string][]string `json:"examples,omitempty"`
	// Profile holds the rules of the pipeline.
	Profile Profile `json:"profile"`
	// Model is true when there is a model to ask; ModelName is what messages to people call it.
	Model     bool   `json:"model,omitempty"`
	ModelName string `json:"model_name,omitempty"`
	// Now is the moment of the first run, for prompts. Version names the prompts, for the record.
	Now     time.Time `json:"now"`
	Version string    `json:"version,omitempty"`
	// History is the conversation so far, oldest first.
	History []Turn `json:"history,omitempty"`
	// Lessons are what earlier runs learned, oldest first; Findings are results that exist already.
	Lessons  []string  `json:"lessons,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Finished are ids of SubJobs that have a result, and Known all ids of the job: a new plan may name them again.
	Finished []string `json:"finished,omitempty"`
	Known    []string `json:"known,omitempty"`
	// Words is true where the planner also puts results into words; records of older planners lack it, and end without.
	Words bool `json:"words,omitempty"`
	// Informed gives each step of a plan that is one list the results of all steps before it; records of older planners lack
	// it, and give those of the last one.
	Informed bool `json:"informed,omitempty"`
	// Courteous also understands answers with courtesies around them and more ways to say no; records of older planners lack it.
	Courteous bool `json:"courteous,omitempty"`
	// Finish is what was carried out, when that is to be put into words.
	Finish *finish.Material `json:"finish,omitempty"`
	// MaxSteps bounds every plan of the job; drafts are bounded by the request's limit or the profile's too. MaxRounds is how
	// often a plan is drafted; 0 takes the request's, else the profile's.
	MaxSteps  int `json:"max_steps,omitempty"`
	MaxRounds int `json:"max_rounds,omitempty"`
	// Reused is the plan that was made before for the same ReuseKey; nil when there is none.
	Reused *Reused `json:"reused,omitempty"`
	// DefaultExpert takes the steps that name no expert.
	DefaultExpert string `json:"default_expert,omitempty"`
}

// Turn is one exchange of a conversation.
type Turn struct {
	// User is what the person wrote and Answer what came back; Steps is how it was done, a line each.
	User   string   `json:"user"`
	Answer string   `json:"answer,omitempty"`
	Steps  []string `json:"steps,omitempty"`
}

// Finding is a piece of knowledge that another expert produced: data, never an instruction.
type Finding struct {
	// Source says who produced it, and Title about what.
	Source string `json:"source"`
	Title  string `json:"title,omitempty"`
	// Text is the content.
	Text string `json:"text"`
}
