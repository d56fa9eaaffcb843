package person

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// Limits of a prompt in bytes. It is complete if it fits, since a message holds six times as much. In a longer one every
// part is shortened, so that each is present.
const (
	maxPrompt = 64 << 10
	maxText   = 8 << 10
	maxResult = 2 << 10
	// maxHistory is how much of a history is shown, the newest part.
	maxHistory = 4 << 10
)

// prompt returns the text for the person: the faults of the last answer, the card's text, the work, and its inputs.
func prompt(intro string, w *events.Work, job *brief.Brief, wrong []string) string {
	if whole := told(intro, w, job, wrong, maxPrompt, maxPrompt); len(whole) <= maxPrompt {
		return whole
	}
	return cut(told(intro, w, job, wrong, maxText, maxResult), maxPrompt, w.Job+"/"+w.SubJob)
}

// told assembles a prompt from parts of limited length.
func told(intro string, w *events.Work, job *brief.Brief, wrong []string, maxText, maxResult int) string {
	var b strings.Builder
	self := w.Job + "/" + w.SubJob
	add := func(title, text string, limit int, from string) {
		if text = cut(text, limit, from); text != "" {
			fmt.Fprintf(&b, "%s%s\n", title, text)
		}
	}
	add("The last answer does not fit: ", strings.Join(wrong, "; "), maxResult, self)
	add("", intro, maxText, self)
	add("", w.Goal, maxText, self)
	add("Context: ", w.Context, maxText, self)
	add("Done when: ", w.CompletionCriteria, maxResult, self)
	if job != nil && job.Adds(w.Goal, w.Context) {
		add("What it is for: ", job.Request.Goal, maxText, w.Job)
		if !strings.Contains(w.Context, job.Request.Context) {
			add("Context of the whole: ", job.Request.Context, maxText, w.Job)
		}
		add("", place(job), maxResult, w.Job)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Inputs)) {
		add(name+": ", string(w.Inputs[name]), maxResult, w.Job)
	}
	for _, id := range slices.Sorted(maps.Keys(w.Results)) {
		add("From "+id+": ", string(w.Results[id].Output), maxResult, w.Job+"/"+id)
	}
	for _, lesson := range w.Lessons {
		add("Learned before: ", lesson, maxResult, self)
	}
	add(item.Before+"\n", item.Lines(item.Newest(item.Read(w.History), maxHistory)), maxHistory, self)
	return strings.TrimSpace(b.String())
}

// place says where the step is in the plan.
func place(job *brief.Brief) string {
	if job.Place == nil || job.Plan == nil || job.Place.Of < 2 {
		return ""
	}
	text := fmt.Sprintf("Step %d of %d", job.Place.N, job.Place.Of)
	if job.Plan.Title != "" {
		text += " of: " + job.Plan.Title
	}
	for i, step := range job.Successors {
		if i == 0 {
			text += "; then: "
		} else {
			text += ", "
		}
		text += cmp.Or(step.Title, step.ID)
	}
	return text
}

// cut keeps the beginning, and says how long that is and where to find the rest.
func cut(text string, limit int, from string) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s… (%d of %d bytes; all of it: jobgraph describe %s -o json)", strings.ToValidUTF8(text[:limit], ""), limit, len(text), from)
}
