package conversation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// alike is how many equal earlier answers make an answer a repetition.
const alike = 2

// answered takes an answer of the model: its calls are made, or the turn passes to the next role, or it is judged as the result.
func (m *Machine) answered(f *Fact) {
	m.turns++
	m.had.Tokens, m.had.Spent, m.had.Elapsed = m.had.Tokens+f.Tokens, f.Spent, f.Elapsed
	m.text = strings.TrimSpace(f.Text)
	if f.Unreadable != "" {
		m.unreadable(f)
		return
	}
	m.force, m.unread = "", 0
	if m.advises() {
		f.Calls = nil // A role that only advises cannot call tools.
	}
	m.history = append(m.history, Message{Role: Assistant, Text: f.Text, Calls: f.Calls, Carry: f.Carry, voice: m.voice})
	if m.want == summary {
		m.refuse(f.Calls, "not made: the budget is used up")
		m.summarised()
		return
	}
	m.spent = m.exhausted()
	repeated := m.repeats(f)
	switch {
	case repeated && m.warned:
		m.fail(events.CodeExecution, "the model repeats itself", "an answer came again after it was told to change its strategy",
			"change the prompt, or use another model")
	case len(f.Calls) > 0 && m.want == repair:
		m.refuse(f.Calls, "not made: only the answer is wanted now")
		m.conclude()
	case len(f.Calls) > 0:
		m.called(f.Calls, repeated)
	case !m.delivers():
		m.nudge = repeated
		m.pass()
	default:
		m.conclude()
	}
}

// maxUnread is how many answers in a row may be unreadable before the conversation fails.
const maxUnread = 2

// unreadable tells the model why its answer could not be read, and asks for another one.
func (m *Machine) unreadable(f *Fact) {
	m.unread++
	m.spent = m.exhausted()
	switch {
	case m.unread > maxUnread:
		m.fail(events.CodeMalformed, "the model's answers cannot be read", f.Unreadable, "use another model, or one that can call tools")
	case m.spent != "" && m.want == summary:
		m.summarised()
	case m.spent != "":
		m.over()
	default:
		said := m.text
		if said == "" {
			said = "[unreadable]" // Providers require alternating turns.
		}
		m.history = append(m.history, Message{Role: Assistant, Text: said, voice: m.voice})
		m.say("Your last answer could not be read: " + Clip(f.Unreadable, maxLast) +
			"\nAnswer again. The arguments of a tool are one JSON object, as its schema says.")
		m.ask()
	}
}

// delivers reports whether an answer without calls is the result.
func (m *Machine) delivers() bool {
	return len(m.rules.Mode) == 0 || m.want == repair || !m.advises() && m.rules.Delivered(m.text)
}

// pass gives the turn to the next role, unless the budget is used up.
func (m *Machine) pass() {
	if m.spent != "" {
		m.over()
		return
	}
	if m.nudge {
		m.nudge, m.warned = false, true
		m.say(strategy)
	}
	m.voice = (m.voice + 1) % m.rules.Mode.number()
	m.ask()
}

// repeats reports whether the answer is like at least two before it.
func (m *Machine) repeats(f *Fact) bool {
	said := strconv.Itoa(m.voice) + "\x00" + strings.TrimSpace(f.Text)
	for i := range f.Calls {
		said += "\x00" + f.Calls[i].Name + "\x00" + f.Calls[i].Args
	}
	m.prints[said]++
	return m.prints[said] > alike
}

// called handles an answer that calls tools.
func (m *Machine) called(calls []Call, repeated bool) {
	if m.spent != "" && !m.closes(calls) {
		m.refuse(calls, "not made: the budget is used up")
		m.over()
		return
	}
	m.stage, m.calls, m.seen, m.final = using, calls, make([]*string, len(calls)), nil
	for i := range calls {
		m.prepare(i)
	}
	m.nudge = repeated
	m.advance()
}

// prepare answers a call that needs no tool: the end of the conversation, or a call beyond the limit.
func (m *Machine) prepare(i int) {
	switch call := &m.calls[i]; {
	case i >= MaxCalls:
		m.see(i, fmt.Sprintf("not made: an answer may call %d tools", MaxCalls))
	case call.Name == Terminate:
		final, fault := readFinal(call.Args)
		if fault != "" {
			m.see(i, "Error: "+fault)
			return
		}
		m.final = &final
		m.see(i, "noted")
	default:
		m.used[call.Name] = true
	}
}

// closes reports whether the answer calls nothing but the end.
func (m *Machine) closes(calls []Call) bool {
	return len(calls) == 1 && calls[0].Name == Terminate
}

func (m *Machine) see(i int, result string) { m.seen[i] = &result }

// observed records the answer of a tool.
func (m *Machine) observed(f *Fact) {
	if f.Call < 0 || f.Call >= len(m.seen) || m.seen[f.Call] != nil {
		return
	}
	m.see(f.Call, Clip(f.Result, m.rules.Observation))
	m.advance()
}

// advance continues when every call is answered.
func (m *Machine) advance() {
	for _, result := range m.seen {
		if result == nil {
			return
		}
	}
	for i, result := range m.seen {
		m.history = append(m.history, Message{Role: Tool, CallID: m.calls[i].ID, Text: *result, voice: m.voice})
	}
	m.calls, m.seen = nil, nil
	if m.final != nil {
		m.terminate()
		return
	}
	m.pass()
}

// strategy is the message to a model that repeats itself.
const strategy = "You have given the same answer several times. Consider another strategy, and do not repeat what has not " +
	"worked. If nothing else can be done, answer with what you have, or say that it cannot be done."

// refuse answers calls that are not made: providers require an answer to each.
func (m *Machine) refuse(calls []Call, why string) {
	for i := range calls {
		m.history = append(m.history, Message{Role: Tool, CallID: calls[i].ID, Text: why, voice: m.voice})
	}
}

// missing returns the first required tool that was not called.
func (m *Machine) missing() string {
	for _, name := range m.rules.Required {
		if !m.used[name] {
			return name
		}
	}
	return ""
}

// conclude judges an answer that calls nothing.
func (m *Machine) conclude() {
	if name := m.missing(); name != "" {
		m.remind(name)
		return
	}
	m.judge(m.text)
}

// remind makes the model call a required tool. If it has ignored an earlier reminder and used no required tool since, the
// conversation fails.
func (m *Machine) remind(name string) {
	switch {
	case m.spent != "":
		m.over()
	case m.reminded && m.force == "" && !m.progressed():
		m.fail(events.CodeExecution, "the model answers without "+name, "the expert has to use it before its answer counts", "use a model that can call tools")
	default:
		m.reminded, m.force = true, name
		m.say("Your answer does not count yet: use " + name + " first, and answer from what it gives you.")
		m.ask()
	}
}

// progressed reports whether some required tool was called.
func (m *Machine) progressed() bool {
	for _, name := range m.rules.Required {
		if m.used[name] {
			return true
		}
	}
	return false
}

// judge ends with the result in a text, or asks for one repair.
func (m *Machine) judge(text string) {
	output, faults := m.rules.Read(text)
	switch {
	case len(faults) == 0:
		m.end(Ending{Outcome: events.Success, Output: output})
	case m.repaired:
		m.fail(events.CodeMalformed, "the answer is not in the wanted form", strings.Join(faults, "; "), "simplify output_schema, or use another model")
	case m.spent != "":
		m.over()
	default:
		m.repaired, m.want = true, repair
		m.say("Your answer is not in the wanted form:\n- " + strings.Join(faults, "\n- ") + "\nGive the whole answer again, corrected, and nothing else.")
		m.ask()
	}
}
