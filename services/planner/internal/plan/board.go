package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Mark is the status of a step in a plan document, in the words of OpenManus.
type Mark string

// The marks, in the words of OpenManus.
const (
	NotStarted Mark = "not_started"
	InProgress Mark = "in_progress"
	Completed  Mark = "completed"
	Blocked    Mark = "blocked"
)

// Marks lists all marks, in the order in which a summary counts them.
func Marks() []Mark { return []Mark{Completed, InProgress, Blocked, NotStarted} }

// MarkOf returns the mark of a SubJob's status. A SubJob that waits for a person or a timer is in progress; one that cannot
// continue is blocked.
func MarkOf(status events.Status) Mark {
	switch status {
	case events.Running, events.Waiting:
		return InProgress
	case events.Finished:
		return Completed
	case events.Failed, events.Stopped:
		return Blocked
	}
	return NotStarted
}

// Sign is the symbol printed before a step.
func (m Mark) Sign() string {
	switch m {
	case InProgress:
		return "[→]"
	case Completed:
		return "[✓]"
	case Blocked:
		return "[!]"
	}
	return "[ ]"
}

// Active is true for a step that is still to be done.
func (m Mark) Active() bool { return m == NotStarted || m == InProgress || m == "" }

// Line is one step of a plan as people see it.
type Line struct {
	// ID is the SubJob behind the step, for the graph of a job.
	ID string `json:"id,omitempty"`
	// Text describes the step; Notes holds remarks about it.
	Text  string `json:"text"`
	Mark  Mark   `json:"mark,omitempty"`
	Notes string `json:"notes,omitempty"`
}

// Board is a plan with the mark of each step. The plan operations work on it.
type Board struct {
	// ID identifies the plan; Title is its heading.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Lines are the steps in order.
	Lines []Line `json:"lines"`
	// Plan is the graph that the steps came from, in any dialect; nil for a list of texts.
	Plan json.RawMessage `json:"plan,omitempty"`
	// Used is when a stored plan was last used, Goes when it is removed unless it is used again; zero for never.
	Used time.Time `json:"used_at,omitzero"`
	Goes time.Time `json:"goes_at,omitzero"`
}

// BoardOf converts a plan into a Board. status returns the status of a SubJob; nil if the plan has not started.
func BoardOf(id string, p *events.Plan, status func(subjob string) events.Status) Board {
	b := Board{ID: id, Title: p.Title}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		line := lineOf(*s)
		switch {
		case status != nil:
			line.Mark = MarkOf(status(s.ID))
		case s.Done():
			line.Mark = Completed
		}
		b.Lines = append(b.Lines, line)
	}
	return b
}

// Count returns how many steps have a mark. A step without a mark counts as not started.
func (b *Board) Count(m Mark) int {
	n := 0
	for i := range b.Lines {
		if b.Lines[i].Mark == m || b.Lines[i].Mark == "" && m == NotStarted {
			n++
		}
	}
	return n
}

// String formats the plan as text (O3 in docs/conformance.md).
func (b *Board) String() string {
	head := fmt.Sprintf("Plan: %s (ID: %s)", b.Title, b.ID)
	done, all := b.Count(Completed), len(b.Lines)
	share := 0.0
	if all > 0 {
		share = math.Round(float64(done)/float64(all)*1000) / 10
	}
	out := fmt.Appendf(nil, "%s\n%s\n\n", head, strings.Repeat("=", len([]rune(head))))
	out = fmt.Appendf(out, "Progress: %d/%d steps completed (%.1f%%)\n", done, all, share)
	out = fmt.Appendf(out, "Status: %d completed, %d in progress, %d blocked, %d not started\n\nSteps:\n",
		done, b.Count(InProgress), b.Count(Blocked), b.Count(NotStarted))
	for i := range b.Lines {
		line := &b.Lines[i]
		out = fmt.Appendf(out, "%d. %s %s\n", i, line.Mark.Sign(), line.Text)
		if line.Notes != "" {
			out = fmt.Appendf(out, "   Notes: %s\n", line.Notes)
		}
	}
	return string(out)
}

// Text formats a plan for a person's review: each step with its number, its expert, the numbers of the steps that it needs, and its
// schedule. A step of another plan has no number and is named by its id.
func Text(p *events.Plan) string {
	var out []byte
	numbers := make(map[string]string, len(p.SubJobs))
	for i := range p.SubJobs {
		numbers[p.SubJobs[i].ID] = strconv.Itoa(i + 1)
	}
	if p.Title != "" {
		out = append(out, p.Title+"\n"...)
	}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		out = fmt.Appendf(out, "%d. %s · %s\n", i+1, firstOf(s.Title, clip.Marked(s.Goal, 200), s.ID), firstOf(s.ExpertName, s.Expert))
		if s.Title != "" && s.Goal != "" {
			out = fmt.Appendf(out, "   %s\n", clip.Marked(s.Goal, 400))
		}
		if len(s.Dependencies) > 0 {
			needs := make([]string, len(s.Dependencies))
			for n, id := range s.Dependencies {
				needs[n] = firstOf(numbers[id], id)
			}
			out = fmt.Appendf(out, "   ← %s\n", some(needs, 12))
		}
		if s.Schedule != nil {
			out = fmt.Appendf(out, "   ⟳ %s\n", When(s.Schedule))
		}
	}
	return strings.TrimRight(string(out), "\n")
}
