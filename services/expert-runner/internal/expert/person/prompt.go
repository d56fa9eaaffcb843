package person

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Longest parts of a prompt, in bytes: all of it together stays far below a message.
const (
	maxText   = 8 << 10
	maxResult = 2 << 10
	maxPrompt = 32 << 10
)

// prompt is what a person reads: what was wrong with the last answer, the card's text, the work, and what is there to do it
// with.
func prompt(intro string, w *events.Work, wrong []string) string {
	var b strings.Builder
	add := func(title, text string, limit int) {
		if text = cut(text, limit); text != "" {
			fmt.Fprintf(&b, "%s%s\n", title, text)
		}
	}
	add("The last answer does not fit: ", strings.Join(wrong, "; "), maxResult)
	add("", intro, maxText)
	add("", w.Goal, maxText)
	add("Context: ", w.Context, maxText)
	add("Done when: ", w.CompletionCriteria, maxResult)
	for _, name := range slices.Sorted(maps.Keys(w.Inputs)) {
		add(name+": ", string(w.Inputs[name]), maxResult)
	}
	for _, id := range slices.Sorted(maps.Keys(w.Results)) {
		add("From "+id+": ", string(w.Results[id].Output), maxResult)
	}
	for _, lesson := range w.Lessons {
		add("Learned before: ", lesson, maxResult)
	}
	return cut(strings.TrimSpace(b.String()), maxPrompt)
}

// cut keeps the beginning, and says so.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
