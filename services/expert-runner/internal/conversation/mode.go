package conversation

import "slices"

// Voice is one of the roles that take turns in a conversation. A journal stores it.
type Voice struct {
	// Name is the name of the role for the others.
	Name string `json:"name"`
	// Prompt are instructions for this role only, after those for all.
	Prompt string `json:"prompt,omitempty"`
}

// Mode lists the roles of a conversation in their order; an empty one has a single role that thinks and acts. Only the last role
// acts: it calls tools and gives the result, the others advise.
type Mode []Voice

// Dual is a thinker that advises, and an actor.
func Dual() Mode {
	return Mode{
		{Name: "thinker", Prompt: "Two of you work on this request in turns: you are the thinker, the other is the actor. You call no tools and write no " +
			"<deliverable>. Say in a few sentences what the actor is to do next, and why. Judge what it has done: name what is wrong, missing or " +
			"made up. When the work is done and right, tell the actor to deliver it."},
		{Name: "actor", Prompt: "Two of you work on this request in turns: you are the actor, the other is the thinker, who advises you. Do the next step, " +
			"with tools where they help, and say what came of it. Give the <deliverable> when the work is done, and not before."},
	}
}

// number returns the number of roles; an empty mode has one.
func (mode Mode) number() int { return max(1, len(mode)) }

// actor returns the index of the role that acts: the last one.
func (mode Mode) actor() int { return mode.number() - 1 }

// seen returns a conversation as one role sees it: its own messages as its own; what others have said and done, including tools, as
// a report.
func (mode Mode) seen(history []Message, self int) []Message {
	list := slices.Clone(history)
	if len(mode) == 0 {
		return list
	}
	for i := range list {
		switch m := &list[i]; {
		case m.Role == System:
			m.Text += "\n\n" + mode[self].Prompt
		case m.Role != User && m.voice != self:
			list[i] = mode.told(m)
		}
	}
	return list
}

// told returns what a role has said, or what a tool has answered it, in the form for the others.
func (mode Mode) told(m *Message) Message {
	if m.Role == Tool {
		return Message{Role: User, Text: Data("tool", m.CallID, m.Text, MaxShown)}
	}
	text := "The " + mode[m.voice].Name + " says:\n" + m.Text
	for i := range m.Calls {
		text += "\n" + Data("call", m.Calls[i].ID, m.Calls[i].Name+" "+m.Calls[i].Args, MaxShown)
	}
	return Message{Role: User, Text: text}
}
