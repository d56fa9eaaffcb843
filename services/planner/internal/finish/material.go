package finish

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The forms in which a result can be written.
const (
	Summary = "summary" // A few sentences that close the work.
	Report  = "report"  // A report with a fixed structure, and its sources at the end.
)

// Material is everything that the author of a summary or report gets.
type Material struct {
	// Form is Summary or Report.
	Form string `json:"form"`
	// Written is true if the stand-in expert has finished, so that no model is asked again. Text is what it wrote; it may be empty.
	Written bool   `json:"written,omitempty"`
	Text    string `json:"text,omitempty"`
	// StandIn is the id of the expert that writes instead of the model, empty if there is none.
	StandIn string `json:"stand_in,omitempty"`
	// Title and Thought come from the plan. Steps are the executed steps in the order of the plan.
	Title   string `json:"title,omitempty"`
	Thought string `json:"thought,omitempty"`
	Steps   []Step `json:"steps,omitempty"`
	// Sources are the sources that the results cite.
	Sources []Source `json:"sources,omitempty"`
	// Given are further sources that may be cited: those in the job's inputs and text files.
	Given []string `json:"given,omitempty"`
	// Unsearched is true if the search for Given was incomplete; then no source counts as invented.
	Unsearched bool `json:"unsearched,omitempty"`
	// Artifacts are the files of the result, named SUBJOB/NAME.
	Artifacts []events.Ref `json:"artifacts,omitempty"`
}

// Step is one executed SubJob.
type Step struct {
	// ID, Title and Goal come from the plan; Text is the result.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Goal  string `json:"goal,omitempty"`
	Text  string `json:"text"`
	// Last is true when no other step used this result.
	Last bool `json:"last,omitempty"`
}

// Name is the name shown to people: the title, or the id.
func (s Step) Name() string {
	for _, text := range []string{s.Title, s.Goal} {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return s.ID
}

// Compute returns Name to prompts. It serves as template.Computed.
func (s Step) Compute(name string) (any, bool) { return s.Name(), name == "Name" }

// New collects the steps of a plan that have a result, in the plan's order.
func New(form string, p *events.Plan, results map[string]json.RawMessage) Material {
	m := Material{Form: form, Title: p.Title, Thought: p.Thought}
	used := map[string]bool{}
	for i := range p.SubJobs {
		for _, dep := range p.SubJobs[i].Dependencies {
			used[dep] = true
		}
	}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		result, ok := results[s.ID]
		if !ok {
			continue
		}
		m.Steps = append(m.Steps, Step{ID: s.ID, Title: s.Title, Goal: s.Goal, Text: Words(result), Last: !used[s.ID]})
		m.Sources = merge(m.Sources, cited(result))
	}
	return m
}

// The tags between which a model puts its answer.
const finalOpen, finalClose = "<final_output>", "</final_output>"

// Marked returns the part of text between the answer tags, or all of text if there are none.
func Marked(text string) string {
	_, rest, opened := strings.Cut(text, finalOpen)
	inner, _, closed := strings.Cut(rest, finalClose)
	if opened && closed {
		text = inner
	}
	return strings.TrimSpace(text)
}

// Unfenced removes a Markdown code fence around the whole text.
func Unfenced(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	inner, closed := strings.CutSuffix(strings.TrimSpace(rest), "```")
	if !more || !closed || !strings.HasPrefix(first, "```") || strings.Contains(inner, "```") {
		return text
	}
	return strings.TrimSpace(inner)
}

// Words returns a result as text: the value of a JSON string, otherwise the JSON itself.
func Words(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return Marked(text)
	}
	return strings.TrimSpace(string(result))
}

// Fit shortens the texts of steps so that together they take at most most bytes. Short texts stay whole; long ones share
// the remaining space.
func Fit(steps []Step, most int, clip func(text string, most int) string) []Step {
	fitted := append([]Step(nil), steps...)
	open := make([]int, len(fitted))
	for i := range fitted {
		open[i] = i
	}
	for len(open) > 0 {
		share := most / len(open)
		var long []int
		for _, at := range open {
			if len(fitted[at].Text) > share {
				long = append(long, at)
				continue
			}
			most -= len(fitted[at].Text)
		}
		if len(long) == len(open) {
			for _, at := range long {
				fitted[at].Text = clip(fitted[at].Text, share)
			}
			return fitted
		}
		open = long
	}
	return fitted
}
