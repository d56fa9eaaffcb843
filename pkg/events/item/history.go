package item

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Limits of a history, in bytes of its texts: MaxHistory is kept with a job, DefaultHistory is what an expert gets if its card does
// not say otherwise, MaxTurn limits one item.
const (
	MaxHistory     = 32 << 10
	DefaultHistory = 16 << 10
	MaxTurn        = 4 << 10
)

// Before is the heading of a history in the prompt of a question. It begins the last part of the prompt, which is not recorded
// again.
const Before = "Said before in this session:"

// weight is the least that an item counts, however short its text is.
const weight = 64

// told reports whether later experts need an item. Thoughts, tool calls and progress are not part of a history.
func told(i *Item) bool {
	switch i.Type {
	case Message, Question, Answer, Text, Guidance, Warning, Result:
		return true
	case Schedule:
		return i.Done
	}
	return false
}

// History returns what later experts should know of a conversation, oldest first: what people, planner and experts said, each
// text cut at MaxTurn. Of a long conversation it keeps the newest items up to MaxHistory.
func History(conversation []Entry) []Item {
	var list []Item
	for n := range conversation {
		i := &conversation[n].Item
		if !told(i) {
			continue
		}
		text := clip.Text(i.Text, MaxTurn)
		list = append(list, Item{
			Type: i.Type, ID: i.ID, At: i.At, Job: i.Job, SubJob: i.SubJob, Expert: i.Expert, User: i.User, Request: i.Request,
			Text: text, Truncated: i.Truncated + len(i.Text) - len(text), Ref: i.Ref,
		})
	}
	return Newest(list, MaxHistory)
}

// Read reads a history from a work message; nil if there is none or it is not a list of items.
func Read(history json.RawMessage) []Item {
	var list []Item
	if len(history) == 0 || json.Unmarshal(history, &list) != nil {
		return nil
	}
	return list
}

// Newest returns the last items of a history whose texts have up to most bytes together.
func Newest(history []Item, most int) []Item {
	for n := range slices.Backward(history) {
		if most -= len(history[n].Text) + weight; most < 0 {
			return history[n+1:]
		}
	}
	return history
}

// Lines returns a history for people and models, one paragraph for each item.
func Lines(history []Item) string {
	var b strings.Builder
	for n := range history {
		i := &history[n]
		b.WriteString(speaker(i) + ": " + strings.TrimSpace(i.Text))
		if i.Truncated > 0 {
			b.WriteString(" …")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// speaker names the speaker of an item.
func speaker(i *Item) string {
	who := map[Type]string{Message: "User", Answer: "User's answer", Question: "Question", Result: "Result", Schedule: "Result of a schedule"}[i.Type]
	if who == "" {
		who = strings.ToUpper(string(i.Type[:1])) + string(i.Type[1:])
	}
	switch {
	case i.User != "":
		who += " (" + i.User + ")"
	case i.Expert != "" && i.Type != Message: // A message names the expert that it is for.
		who += " (" + i.Expert + ")"
	}
	return who
}
