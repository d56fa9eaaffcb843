package conversation

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// exhausted names the budget that is used up; empty if none is.
func (m *Machine) exhausted() string {
	r := &m.rules
	switch {
	case m.turns >= r.Turns:
		return fmt.Sprintf("%d turns", r.Turns)
	case r.Tokens > 0 && m.had.Tokens >= r.Tokens:
		return fmt.Sprintf("%d of %d tokens", m.had.Tokens, r.Tokens)
	case r.Left.Tokens > 0 && m.had.Spent.Tokens >= r.Left.Tokens:
		return fmt.Sprintf("the %d tokens that the job had left", r.Left.Tokens)
	case r.Left.CostUSD > 0 && m.had.Spent.CostUSD >= r.Left.CostUSD:
		return fmt.Sprintf("the %.4f USD that the job had left", r.Left.CostUSD)
	case r.Time > 0 && m.had.Elapsed >= r.Time:
		return r.Time.String()
	}
	return ""
}

// over ends a conversation whose budget is used up before its work is done: with a summary if allowed.
func (m *Machine) over() {
	if !m.rules.Summary {
		m.fail(events.CodeBudget, "the budget is used up before the work is done", m.spent, "raise max_turns, max_tokens or max_time on the expert's card, or limits of the job, or ask for less")
		return
	}
	m.want, m.voice = summary, m.rules.Mode.actor()
	m.say("Your budget is used up (" + m.spent + "). Call no tool any more. Summarise what you have found out so far, and say what is missing.")
	m.ask()
}

// Unfinished is the output of a conversation whose budget was used up: a summary, never the result.
type Unfinished struct {
	// Incomplete is always true.
	Incomplete bool `json:"incomplete"`
	// Reason says which budget is used up, Summary what was found so far.
	Reason  string `json:"reason"`
	Summary string `json:"summary"`
}

// summarised ends with the summary, marked as one. If the model returns nothing, there is none.
func (m *Machine) summarised() {
	text := strings.TrimSpace(m.text)
	if text == "" {
		m.fail(events.CodeBudget, "the budget is used up, and there is no summary", m.spent, "raise max_turns, max_tokens or max_time on the expert's card, or limits of the job")
		return
	}
	output, err := json.Marshal(Unfinished{Incomplete: true, Reason: "the budget is used up: " + m.spent, Summary: text})
	if err != nil {
		m.fail(events.CodeInternal, "the summary cannot be written", err.Error(), "")
		return
	}
	m.end(Ending{Outcome: events.Success, Incomplete: true, Output: output, Lesson: "The budget was used up (" + m.spent + "): this is a summary, not the result."})
}
