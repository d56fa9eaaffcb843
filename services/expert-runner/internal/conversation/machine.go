package conversation

import (
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// stage is what the conversation waits for.
type stage int

const (
	asking stage = iota // The model's answer.
	using               // The answers of tools.
	ended
)

// want is the purpose of the next question.
type want int

const (
	work    want = iota // Continue the work.
	repair              // Repeat the answer in the right form.
	summary             // Summarise the findings, since the budget is used up.
)

// Machine is the state of one conversation: Take applies a fact, Next returns what the conversation needs then.
type Machine struct {
	rules Rules
	stage stage
	want  want
	voice int // The present role.
	// force is the tool that the next answer must call.
	force   string
	history []Message
	// number counts questions, turns counts answers; had is what the run has used up to the last answer.
	number, turns int
	had           Before
	// calls are the calls of the last answer, seen their results by index; nil is still awaited.
	calls []Call
	seen  []*string
	// final is the call of terminate in the last answer, if there is one, and text is what came with it.
	final *finalCall
	text  string
	// prints identify equal answers; nudge means that the model has to be warned about a repetition, warned that it has been.
	prints   map[string]int
	nudge    bool
	warned   bool
	used     map[string]bool
	reminded bool
	repaired bool
	// unread counts the answers in a row that could not be read.
	unread int
	// spent says which budget is used up.
	spent      string
	compressed []Compression
	tightened  bool
	ending     Ending
}

// New begins a conversation. The opening is never compressed. When the budget was used up before, it is over at once.
func New(rules Rules, opening []Message) *Machine {
	m := &Machine{
		rules: rules.filled(), history: slices.Clone(opening), prints: map[string]int{}, used: map[string]bool{},
		number: rules.Before.Questions, had: rules.Before,
	}
	if m.spent = m.exhausted(); m.spent != "" {
		m.over()
		return m
	}
	m.ask()
	return m
}

// Next returns the next command; it stays the same until a fact is taken.
func (m *Machine) Next() Command {
	c := Command{Number: m.number}
	switch m.stage {
	case ended:
		c.Kind, c.Ending = End, m.ending
	case using:
		c.Kind, c.Calls = Use, slices.Clone(m.calls)
		for i, result := range m.seen {
			if result == nil {
				c.Pending = append(c.Pending, i)
			}
		}
	default:
		c.Kind, c.Messages, c.Compressed = Ask, m.rules.Mode.seen(m.history, m.voice), m.compressed
		c.Form = m.rules.Structured && (m.want == repair || !m.rules.Tools && len(m.rules.Mode) == 0)
		c.Choice, c.Advises = m.force, m.advises()
		if len(m.rules.Mode) > 0 {
			c.Voice = m.rules.Mode[m.voice].Name
		}
		if m.want != work || c.Advises {
			c.Choice = ChoiceNone
		}
	}
	return c
}

// Take applies a fact. One that is not awaited changes nothing.
func (m *Machine) Take(f Fact) {
	switch {
	case f.Kind == Answered && m.stage == asking:
		m.answered(&f)
	case f.Kind == Failed && m.stage == asking:
		m.failed(&f)
	case f.Kind == Observed && m.stage == using:
		m.observed(&f)
	}
}

// Turns returns the number of the model's answers.
func (m *Machine) Turns() int { return m.turns }

// So returns what the run has used so far, for the next conversation.
func (m *Machine) So() Before {
	had := m.had
	had.Questions = m.number
	return had
}

// advises reports whether the present role calls no tools and gives no result.
func (m *Machine) advises() bool { return m.voice != m.rules.Mode.actor() }

// ask makes the next command a question to the model, and compresses the conversation if it has become too long.
func (m *Machine) ask() {
	m.stage = asking
	m.number++
	m.compressed = m.fit(m.rules.Context)
}

// say adds one of our messages.
func (m *Machine) say(text string) { m.history = append(m.history, Message{Role: User, Text: text}) }

func (m *Machine) end(e Ending) {
	m.stage, m.ending = ended, e
}

// fail ends with an EXECUTION_ERROR; the lesson is its text and the last message.
func (m *Machine) fail(code events.Code, message, cause, hint string) {
	fault := &events.Fault{Code: code, Message: message, Cause: cause, Hint: hint}
	m.end(Ending{Outcome: events.ExecutionError, Fault: fault, Lesson: m.lesson(fault.Error())})
}

// maxLast is how much of the last message goes into a lesson, in bytes.
const maxLast = 4 << 10

func (m *Machine) lesson(why string) string {
	if m.text == "" {
		return why
	}
	return why + "\nWhat was said last: " + Clip(m.text, maxLast)
}

// failed ends the conversation, unless it was too long for the model: then it is compressed, and the model is asked once more.
func (m *Machine) failed(f *Fact) {
	m.had.Tokens += f.Tokens
	if f.TooLong && !m.tightened {
		m.tightened = true
		if made := m.fit(0); len(made) > 0 {
			m.number++
			m.compressed = made
			return
		}
	}
	outcome := f.Outcome
	if !outcome.Valid() || outcome == events.Success {
		outcome = events.ExecutionError
	}
	fault := f.Fault
	m.end(Ending{Outcome: outcome, Fault: &fault, Lesson: m.lesson(fault.Error()), RetryAfter: f.RetryAfter})
}

// Clip keeps the beginning of a text, whole characters only, and notes the original length.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	kept := clip.Text(text, most)
	return fmt.Sprintf("%s\n[cut: %d of %d bytes]", kept, len(kept), len(text))
}
