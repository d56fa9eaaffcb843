package finish

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The ways in which a result is put into words.
const (
	Summary = "summary" // A few sentences that close the work.
	Report  = "report"  // A report with a fixed structure, and its sources at the end.
)

// Material is all there is to write about.
type Material struct {
	// Form is Summary or Report.
	Form string `json:"form"`
	// Written is true when no model is to be asked any more: Text is what the expert that stands in for the model wrote, empty
	// when it wrote nothing.
	Written bool   `json:"written,omitempty"`
	Text    string `json:"text,omitempty"`
	// StandIn is the id of the expert that writes in the model's place, empty without one.
	StandIn string `json:"stand_in,omitempty"`
	// Title and Thought are the plan's; Steps is what was carried out, in the order of the plan.
	Title   string `json:"title,omitempty"`
	Thought string `json:"thought,omitempty"`
	Steps   []Step `json:"steps,omitempty"`
	// Sources are what the results cite.
	Sources []Source `json:"sources,omitempty"`
	// Artifacts are the files that belong to the result, named SUBJOB/NAME.
	Artifacts []events.Ref `json:"artifacts,omitempty"`
}

// Step is one SubJob that was carried out.
type Step struct {
	// ID, Title and Goal are as planned, Text is what came out.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Goal  string `json:"goal,omitempty"`
	Text  string `json:"text"`
	// Last is true when no other step has used the result.
	Last bool `json:"last,omitempty"`
}

// Name is what people call the step.
func (s Step) Name() string {
	for _, text := range []string{s.Title, s.Goal} {
		if text = strings.TrimSpace(text); text != "" {
			return text
		}
	}
	return s.ID
}

// New collects the material of a plan and its results by SubJob. A SubJob without a result is left out.
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

// The marks around what a model declares to be its answer.
const finalOpen, finalClose = "<final_output>", "</final_output>"

// Marked takes the part that a text marks as its answer, all of it where nothing is marked.
func Marked(text string) string {
	_, rest, opened := strings.Cut(text, finalOpen)
	inner, _, closed := strings.Cut(rest, finalClose)
	if opened && closed {
		text = inner
	}
	return strings.TrimSpace(text)
}

// Unfenced takes away a fence that a model has put around all of its text.
func Unfenced(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	inner, closed := strings.CutSuffix(strings.TrimSpace(rest), "```")
	if !more || !closed || !strings.HasPrefix(first, "```") || strings.Contains(inner, "```") {
		return text
	}
	return strings.TrimSpace(inner)
}

// Words gives a result as text: a string as it is, anything else as JSON.
func Words(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return Marked(text)
	}
	return strings.TrimSpace(string(result))
}

// Fit shortens texts to so many bytes in all: short ones stay whole, the long ones share what is left.
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
