package planning

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// maxMoves is far above what the limits of any profile allow; reaching it is a bug, and ends planning with one.
const maxMoves = 10_000

// Ports are the functions that planning asks. All of them depend on nothing but their arguments.
type Ports struct {
	// Render makes a prompt of its name, the locale and the variables.
	Render func(name, locale string, v Vars) (Prompt, error)
	// Read finds the JSON in a model's text that fits.
	Read func(text string, fits func(json.RawMessage) bool) (json.RawMessage, error)
	// Plan are the options that plans are checked with; limits, finished work and defaults come from Start.
	Plan plan.Options
}

// Prompt is a rendered prompt: who the model is, and what is asked now. Texts for people are in User.
type Prompt struct {
	System, User string
}

// Planning folds the facts of one piece of planning. It has one owner. It moves from stage to stage along the table of
// Transitions; what a stage does is a type of its own.
type Planning struct {
	core core
	// spent sums costs by run; booked says of which facts.
	spent  map[int]events.Spent
	booked map[entry]bool
}

// core is what all stages work with: what planning may know, what it has come to, and the command that is pending.
type core struct {
	ports   Ports
	start   Start
	state   State
	pending Command
}

// entry is one fact in the account.
type entry struct {
	run int
	key string
}

// State is what planning has come to; written as JSON it is the same bytes for the same facts.
type State struct {
	// Stage is where it stands, Moves how it got there, without the stages that were not wanted.
	Stage Stage  `json:"stage"`
	Moves []Move `json:"moves,omitempty"`
	// Locale, Title and Query are what triage and the person made of the request.
	Locale string `json:"locale,omitempty"`
	Title  string `json:"title,omitempty"`
	Query  string `json:"query,omitempty"`
	// Question is what is unclear, Told what the person said to such questions, Wishes his edits, in order.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	Told     []string `json:"told,omitempty"`
	Wishes   []string `json:"wishes,omitempty"`
	// Findings are what investigations gave, Notes what of them failed.
	Findings []Finding     `json:"findings,omitempty"`
	Notes    events.Faults `json:"notes,omitempty"`
	// Cards are the experts as last heard of.
	Cards []events.Card `json:"cards,omitempty"`
	// Counts number the commands of each stage. Attempt counts the drafts of this round, Reminders the repetitions of the
	// question that is open.
	Counts    Counts `json:"counts"`
	Attempt   int    `json:"attempt,omitempty"`
	Reminders int    `json:"reminders,omitempty"`
	// Beyond is true when the last answer was an edit that no round is left for.
	Beyond bool `json:"beyond,omitempty"`
	// Drafts says what the drafts were worth.
	Drafts Drafts `json:"drafts,omitzero"`
	// Raw is the model's last text, Faults what is wrong with it, Short that the prompt has to be shortened.
	Raw    string        `json:"raw,omitempty"`
	Faults events.Faults `json:"faults,omitempty"`
	Short  bool          `json:"short,omitempty"`
	// Unreachable is true when the model cannot be asked again.
	Unreachable bool `json:"unreachable,omitempty"`
	// Plan is the valid plan in hand, Warnings what was changed in it, Fallback the rung it came from.
	Plan     *events.Plan  `json:"plan,omitempty"`
	Warnings events.Faults `json:"warnings,omitempty"`
	Fallback Rung          `json:"fallback,omitempty"`
	// Reused is true for a plan that was made for an earlier job.
	Reused bool `json:"reused,omitempty"`
	// Confirmed is true once the person has confirmed what recurs; Final is the expert that makes the result.
	Confirmed bool         `json:"confirmed,omitempty"`
	Final     *events.Card `json:"final,omitempty"`
	// Answer is what the person is told: instead of a plan, or of what came out of one. Words are what was written
	// of it, and Author who.
	Answer string `json:"answer,omitempty"`
	Words  string `json:"words,omitempty"`
	Author Author `json:"author,omitempty"`
}

// Counts number commands, for keys and limits.
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

// Drafts counts drafts by what they were worth.
type Drafts struct {
	// Valid passed the check, Faulty were read and did not, in Unreadable no plan was found, Failed never came.
	Valid      int `json:"valid,omitempty"`
	Faulty     int `json:"faulty,omitempty"`
	Unreadable int `json:"unreadable,omitempty"`
	Failed     int `json:"failed,omitempty"`
}

// Move is one transition that happened.
type Move struct {
	From Stage `json:"from"`
	On   On    `json:"on"`
	To   Stage `json:"to"`
}

// room is what a stage does: enter sets the command that is pending, or says at once what moves on.
type room interface{ enter() On }

// taker is a stage with a command: take reads the fact that answers it.
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

// room is the present stage.
func (s *core) room() room { return rooms[s.state.Stage](s) }

// New begins planning. Its first command is pending at once.
func New(start Start, ports Ports) *Planning {
	s := &Planning{core: core{ports: ports, start: start}, spent: map[int]events.Spent{}, booked: map[entry]bool{}}
	s.core.state = State{Stage: StageBegin, Cards: start.Cards, Locale: start.locale(), Query: start.goal(), Findings: slices.Clone(start.Findings)}
	s.run("")
	return s
}

// Fold begins planning and applies the facts that were recorded.
func Fold(start Start, ports Ports, facts []Fact) *Planning {
	s := New(start, ports)
	for i := range facts {
		s.Apply(facts[i])
	}
	return s
}

// Pending gives the one command that planning waits for; End once it is over.
func (s *Planning) Pending() Command { return s.core.pending }

// Ended gives the outcome once there is one.
func (s *Planning) Ended() (*Ending, bool) { return s.core.pending.End, s.core.pending.Kind == End }

// State gives what planning has come to. It must not be changed.
func (s *Planning) State() *State { return &s.core.state }

// Spent sums what the facts of one planning run have cost: what the fact stated by that run has to tell.
func (s *Planning) Spent(run int) events.Spent { return s.spent[run] }

// Apply folds one fact. It reports whether the fact answers the command that is pending; any other changes nothing but the
// account of what was spent.
func (s *Planning) Apply(f Fact) bool {
	f.clean()
	s.account(&f)
	if s.core.pending.Kind == End || f.Key != s.core.pending.Key || !fits(s.core.pending.Kind, f.Kind) {
		return false
	}
	stage, ok := s.core.room().(taker)
	if ok { // Every stage whose command a fact can answer takes facts.
		s.run(stage.take(&f))
	}
	return ok
}

// account books what a fact cost, once for each key and run.
func (s *Planning) account(f *Fact) {
	if at := (entry{f.Run, f.Key}); !s.booked[at] {
		s.booked[at] = true
		s.spent[f.Run] = graph.AddSpent(s.spent[f.Run], f.Spent)
	}
}

// fits reports whether a fact of that kind can answer a command.
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

// run moves until a command is pending. Every way round passes a stage that counts.
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

// move takes one transition. One that the table lacks is a bug, and ends planning.
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

// bug ends planning with a fault of ours.
func (s *Planning) bug(cause string) {
	s.core.state.Stage, s.core.state.Plan, s.core.state.Answer = StageEnd, nil, ""
	s.core.state.Faults = events.Faults{{
		Code: events.CodeInternal, Message: "planning broke down", Cause: cause, Hint: "this is a bug: report it with the plan",
	}}
	endStage{&s.core}.enter()
}

// issue sets the command. Its key is that of the stage.
func (s *core) issue(n int, c Command) On {
	c.Key, c.Stage = key(s.state.Stage, n), s.state.Stage
	s.pending = c
	return ""
}
