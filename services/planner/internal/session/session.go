package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// maxMoves is far above what the limits of any profile allow; reaching it is a bug, and ends the session with one.
const maxMoves = 10_000

// Ports are the functions that a session asks. All of them depend on nothing but their arguments.
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

// Session folds the facts of one piece of planning. It has one owner.
type Session struct {
	ports Ports
	start Start
	state State
	owed  Command
	// spent sums costs by run; booked says of which facts.
	spent  map[int]events.Spent
	booked map[entry]bool
}

// entry is one fact in the account.
type entry struct {
	run int
	key string
}

// State is what a session has come to; written as JSON it is the same bytes for the same facts.
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
	// Answer is what the person is told: instead of a plan, or of what came out of one. Words are what somebody has written
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

// room is what a stage does: enter sets the command that is owed, or says at once what moves on; take reads the fact that
// answers it.
type room struct {
	enter func(*Session) On
	take  func(*Session, *Fact) On
}

var rooms = map[Stage]room{
	StageBegin:       {enter: (*Session).begin},
	StageGiven:       {enter: (*Session).enterGiven, take: (*Session).takeCards},
	StageTriage:      {enter: (*Session).enterTriage, take: (*Session).takeTriage},
	StageClarify:     {enter: (*Session).enterClarify, take: (*Session).takeClarify},
	StageInvestigate: {enter: (*Session).enterInvestigate, take: (*Session).takeInvestigate},
	StageDraft:       {enter: (*Session).enterDraft, take: (*Session).takeDraft},
	StageFallback:    {enter: (*Session).enterFallback},
	StageConfirm:     {enter: (*Session).enterConfirm, take: (*Session).takeConfirm},
	StageReview:      {enter: (*Session).enterReview, take: (*Session).takeReview},
	StageFinish:      {enter: (*Session).enterFinish, take: (*Session).takeFinish},
	StageEnd:         {enter: (*Session).enterEnd},
}

// New begins a session. It owes its first command at once.
func New(start Start, ports Ports) *Session {
	s := &Session{ports: ports, start: start, spent: map[int]events.Spent{}, booked: map[entry]bool{}}
	s.state = State{Stage: StageBegin, Cards: start.Cards, Locale: start.locale(), Query: start.goal(), Findings: slices.Clone(start.Findings)}
	s.run("")
	return s
}

// Fold begins a session and applies the facts that were recorded.
func Fold(start Start, ports Ports, facts []Fact) *Session {
	s := New(start, ports)
	for i := range facts {
		s.Apply(facts[i])
	}
	return s
}

// Owes gives the one command that the session waits for; End once it is over.
func (s *Session) Owes() Command { return s.owed }

// Ended gives the outcome once there is one.
func (s *Session) Ended() (*Ending, bool) { return s.owed.End, s.owed.Kind == End }

// State gives what the session has come to. It must not be changed.
func (s *Session) State() *State { return &s.state }

// Spent sums what the facts of one planning run have cost: what the fact stated by that run has to tell.
func (s *Session) Spent(run int) events.Spent { return s.spent[run] }

// Apply folds one fact. It reports whether the fact answers the command that is owed; any other changes nothing but the
// account of what was spent.
func (s *Session) Apply(f Fact) bool {
	f.clean()
	s.account(&f)
	if s.owed.Kind == End || f.Key != s.owed.Key || !fits(s.owed.Kind, f.Kind) {
		return false
	}
	on := rooms[s.state.Stage].take(s, &f)
	s.run(on)
	return true
}

// account books what a fact cost, once for each key and run.
func (s *Session) account(f *Fact) {
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

// run moves until a command is owed. Every way round passes a stage that counts.
func (s *Session) run(on On) {
	s.owed = Command{}
	for range maxMoves {
		if on != "" && !s.move(on) {
			return
		}
		if on = rooms[s.state.Stage].enter(s); on == "" {
			return
		}
	}
	s.bug("the session goes in circles")
}

// move takes one transition. One that the table lacks is a bug, and ends the session.
func (s *Session) move(on On) bool {
	from := s.state.Stage
	to, ok := next(from, on)
	if !ok {
		s.bug(fmt.Sprintf("nothing leads on from stage %s when %s", from, on))
		return false
	}
	if on != OnSkipped {
		s.state.Moves = append(s.state.Moves, Move{From: from, On: on, To: to})
	}
	s.state.Stage = to
	return true
}

// bug ends the session with a fault of ours.
func (s *Session) bug(cause string) {
	s.state.Stage, s.state.Plan, s.state.Answer = StageEnd, nil, ""
	s.state.Faults = events.Faults{{
		Code: events.CodeInternal, Message: "planning broke down", Cause: cause, Hint: "this is a bug: report it with the plan",
	}}
	s.enterEnd()
}

// owe sets the command. Its key is that of the stage.
func (s *Session) owe(n int, c Command) On {
	c.Key, c.Stage = key(s.state.Stage, n), s.state.Stage
	s.owed = c
	return ""
}
