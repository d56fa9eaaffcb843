package planning

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// maxMoves is far above what the limits of any profile allow. Reaching it is a bug and ends planning with a fault.
const maxMoves = 10_000

// Ports are the functions that planning calls. They depend on nothing but their arguments.
type Ports struct {
	// Render renders a named prompt for a locale.
	Render func(name, locale string, v Vars) (Prompt, error)
	// Read finds the JSON in a model's text.
	Read Reader
	// Zones finds time zones by name; nil knows UTC alone.
	Zones moment.Zones
	// Plan holds the options of plan checks; Start supplies limits, finished work and defaults.
	Plan plan.Options
}

// Reader finds the wanted JSON in a model's text. A *GuessError comes with the value that was guessed.
type Reader func(text string, want *Wanted) (json.RawMessage, error)

// Wanted describes the JSON to look for in a model's text.
type Wanted struct {
	// Use is its purpose: the role of the call.
	Use string
	// Fits accepts the JSON. Schema is its usual form, by which mistakes in it are put right; it need not fit.
	Fits   func(json.RawMessage) bool
	Schema json.RawMessage
	// Careful reports text that can be read in more than one way as a *GuessError.
	Careful bool
}

// GuessError reports JSON with mistakes that can be put right in more than one way.
type GuessError struct {
	// Place says where, what is there and what is expected.
	Place string
}

// Error describes the mistake and where it is.
func (e *GuessError) Error() string { return e.Place }

// Prompt is a rendered prompt: System says who the model is, User is the present question. Texts for people are in User.
type Prompt struct {
	System, User string
}

// Planning folds the facts of one piece of planning. It has one owner and is not safe for concurrent use. It moves from stage to
// stage along the table of Transitions; each stage has a separate type.
type Planning struct {
	core core
	// spent sums costs by run; booked holds the facts already counted.
	spent  map[int]events.Spent
	booked map[entry]bool
}

// core is the state that all stages share: what planning may know, what it has found out, and the pending command.
type core struct {
	ports   Ports
	start   Start
	state   State
	pending Command
}

// entry identifies a fact whose cost was counted.
type entry struct {
	run int
	key string
}

// State is the result of planning so far. The same facts give the same bytes when it is written as JSON.
type State struct {
	// Stage is the present stage. Moves lists the transitions so far, without skipped stages.
	Stage Stage  `json:"stage"`
	Moves []Move `json:"moves,omitempty"`
	// Locale, Title and Query are what triage and the person's answers made of the request.
	Locale string `json:"locale,omitempty"`
	Title  string `json:"title,omitempty"`
	Query  string `json:"query,omitempty"`
	// Question is what is unclear. Told holds the person's answers to such questions, Wishes their edits, both in order.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	Told     []string `json:"told,omitempty"`
	Wishes   []string `json:"wishes,omitempty"`
	// Findings are results of investigations; Notes lists what failed in them.
	Findings []Finding     `json:"findings,omitempty"`
	Notes    events.Faults `json:"notes,omitempty"`
	// Cards are the experts as last reported.
	Cards []events.Card `json:"cards,omitempty"`
	// Counts number the commands of each stage. Attempt counts the drafts of this round, Reminders the repetitions of the
	// open question.
	Counts    Counts `json:"counts"`
	Attempt   int    `json:"attempt,omitempty"`
	Reminders int    `json:"reminders,omitempty"`
	// Beyond is true when the last answer was an edit but no round is left.
	Beyond bool `json:"beyond,omitempty"`
	// Asking holds further questions of the planner, asked one after the other.
	Asking []plan.Question `json:"asking,omitempty"`
	// Assumed is true once planning continues without what is missing: the model has to make assumptions and state them.
	Assumed bool `json:"assumed,omitempty"`
	// Editing is true while an edit of the person is being applied. Unworked says, one reason per line, why the last one was not.
	Editing  bool     `json:"editing,omitempty"`
	Unworked []string `json:"unworked,omitempty"`
	// Drafts counts the drafts by quality.
	Drafts Drafts `json:"drafts,omitzero"`
	// Raw is the model's last text and Faults lists its faults. Short is true when the next prompt must be shorter.
	Raw    string        `json:"raw,omitempty"`
	Faults events.Faults `json:"faults,omitempty"`
	Short  bool          `json:"short,omitempty"`
	// Unreachable is true when the model cannot be asked again.
	Unreachable bool `json:"unreachable,omitempty"`
	// Plan is the latest valid plan, Warnings what was changed in it, Fallback the fallback level that made it.
	Plan     *events.Plan  `json:"plan,omitempty"`
	Warnings events.Faults `json:"warnings,omitempty"`
	Fallback Rung          `json:"fallback,omitempty"`
	// Reused is true for a plan made for an earlier job.
	Reused bool `json:"reused,omitempty"`
	// Confirmed is true once the person has confirmed recurring steps. Final is the expert that makes the result.
	Confirmed bool         `json:"confirmed,omitempty"`
	Final     *events.Card `json:"final,omitempty"`
	// Answer is the answer to the person, instead of a plan or about its result. Words is the summary or report and Author
	// who wrote it.
	Answer string `json:"answer,omitempty"`
	// Guidance is true if Answer says why there is no plan.
	Guidance bool   `json:"guidance,omitempty"`
	Words    string `json:"words,omitempty"`
	Author   Author `json:"author,omitempty"`
}

// Counts number commands, for their keys and limits.
type Counts struct {
	Triage      int `json:"triage,omitempty"`
	Clarify     int `json:"clarify,omitempty"`
	Investigate int `json:"investigate,omitempty"`
	Draft       int `json:"draft,omitempty"`
	Confirm     int `json:"confirm,omitempty"`
	Review      int `json:"review,omitempty"`
	Await       int `json:"await,omitempty"`
	Finish      int `json:"finish,omitempty"`
	Rounds      int `json:"rounds,omitempty"`
}

// Drafts counts drafts by quality.
type Drafts struct {
	// Valid drafts passed the check, Faulty ones did not, Unreadable ones contained no plan, Failed ones never arrived.
	Valid      int `json:"valid,omitempty"`
	Faulty     int `json:"faulty,omitempty"`
	Unreadable int `json:"unreadable,omitempty"`
	Failed     int `json:"failed,omitempty"`
}

// Move is one transition that took place.
type Move struct {
	From Stage `json:"from"`
	On   On    `json:"on"`
	To   Stage `json:"to"`
}

// room is a stage: enter sets the pending command, or returns at once what leads to the next stage.
type room interface{ enter() On }

// taker is a stage with a command: take handles the fact that answers it.
type taker interface{ take(f *Fact) On }

var rooms = map[Stage]func(*core) room{
	StageBegin:       func(c *core) room { return beginStage{c} },
	StageGiven:       func(c *core) room { return givenStage{c} },
	StageTriage:      func(c *core) room { return triageStage{c} },
	StageClarify:     func(c *core) room { return clarifyStage{c} },
	StageInvestigate: func(c *core) room { return investigateStage{c} },
	StageDraft:       func(c *core) room { return draftStage{c} },
	StageFallback:    func(c *core) room { return fallbackStage{c} },
	StageConfirm:     func(c *core) room { return confirmStage{approval{c}} },
	StageReview:      func(c *core) room { return reviewStage{approval{c}} },
	StageFinish:      func(c *core) room { return finishStage{c} },
	StageEnd:         func(c *core) room { return endStage{c} },
}

// room returns the present stage.
func (s *core) room() room { return rooms[s.state.Stage](s) }

// New begins planning. Its first command is pending at once.
func New(start Start, ports Ports) *Planning {
	s := &Planning{core: core{ports: ports, start: start}, spent: map[int]events.Spent{}, booked: map[entry]bool{}}
	s.core.state = State{Stage: StageBegin, Cards: start.Cards, Locale: start.locale(), Query: start.goal(), Findings: slices.Clone(start.Findings)}
	s.run("")
	return s
}

// Fold begins planning and applies recorded facts.
func Fold(start Start, ports Ports, facts []Fact) *Planning {
	s := New(start, ports)
	for i := range facts {
		s.Apply(facts[i])
	}
	return s
}

// Pending returns the one command that planning waits for; End once planning is over.
func (s *Planning) Pending() Command { return s.core.pending }

// Ended returns the outcome, once there is one.
func (s *Planning) Ended() (*Ending, bool) { return s.core.pending.End, s.core.pending.Kind == End }

// State returns the state of planning. The caller must not change it.
func (s *Planning) State() *State { return &s.core.state }

// Spent sums the costs of the facts of one planning run, which that run's outcome reports.
func (s *Planning) Spent(run int) events.Spent { return s.spent[run] }

// Apply folds one fact. It reports whether the fact answers the pending command. Any other fact changes nothing but the
// costs.
func (s *Planning) Apply(f Fact) bool {
	f.clean()
	s.account(&f)
	if s.core.pending.Kind == End || f.Key != s.core.pending.Key || !fits(s.core.pending.Kind, f.Kind) {
		return false
	}
	stage, ok := s.core.room().(taker)
	if ok { // Every stage with a command implements taker.
		s.run(stage.take(&f))
	}
	return ok
}

// account adds the cost of a fact, once per key and run.
func (s *Planning) account(f *Fact) {
	if at := (entry{f.Run, f.Key}); !s.booked[at] {
		s.booked[at] = true
		s.spent[f.Run] = graph.AddSpent(s.spent[f.Run], f.Spent)
	}
}

// fits reports whether a fact of kind f can answer a command of kind c.
func fits(c CommandKind, f FactKind) bool {
	switch c {
	case Call:
		return f == Answered || f == Failed
	case Investigate:
		return f == Found || f == Failed
	case Await:
		return f == Cards
	case Ask:
		return f == Closed
	}
	return false
}

// run moves until a command is pending. Every cycle passes a stage that counts, so it ends.
func (s *Planning) run(on On) {
	s.core.pending = Command{}
	for range maxMoves {
		if on != "" && !s.move(on) {
			return
		}
		if on = s.core.room().enter(); on == "" {
			return
		}
	}
	s.bug("planning goes in circles")
}

// move takes one transition. A transition that is missing from the table is a bug and ends planning.
func (s *Planning) move(on On) bool {
	from := s.core.state.Stage
	to, ok := next(from, on)
	if !ok {
		s.bug(fmt.Sprintf("nothing leads on from stage %s when %s", from, on))
		return false
	}
	if on != OnSkipped {
		s.core.state.Moves = append(s.core.state.Moves, Move{From: from, On: on, To: to})
	}
	s.core.state.Stage = to
	return true
}

// bug ends planning with an internal fault.
func (s *Planning) bug(cause string) {
	s.core.state.Stage, s.core.state.Plan, s.core.state.Answer = StageEnd, nil, ""
	s.core.state.Faults = events.Faults{{
		Code: events.CodeInternal, Message: "planning broke down", Cause: cause, Hint: "this is a bug: report it with the plan",
	}}
	endStage{&s.core}.enter()
}

// issue sets the pending command. Its key consists of the stage and n.
func (s *core) issue(n int, c Command) On {
	c.Key, c.Stage = key(s.state.Stage, n), s.state.Stage
	s.pending = c
	return ""
}
