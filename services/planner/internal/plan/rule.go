package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
)

// DraftRules are additional rules for plans that a model wrote. Harmless faults are repaired with a warning, since each
// fault costs another call.
type DraftRules struct {
	// Search makes sure that a plan whose steps have types searches for information at least once.
	Search bool
	// Offline is true if the request allows no web.
	Offline bool
	// Capabilities lists words; an expert's steps may recur only if its card has one of them. An empty list allows every
	// expert.
	Capabilities []string
	// Strip removes words about time and notification from the goals of recurring steps.
	Strip bool
	// Locale is the language of added texts.
	Locale string
	// Advised is the number of steps that the model was asked not to exceed; 0 for no advice.
	Advised int
}

// unsearched warns about steps that want to search although the request allows no web access. Their experts do them without a
// search.
func (d *draft) unsearched() {
	if d.rules == nil || !d.rules.Offline {
		return
	}
	for i := range d.steps {
		if s := &d.steps[i]; slices.Contains(s.Needs, NeedSearch) {
			d.warnings.add(events.CodeNotPermitted, s.at("need_web_search"), "the request allows no web: the step is done without a search", "")
		}
	}
}

// lookUp makes one step search, if that is required and none does: the first research step, else the first step becomes one, else one
// is inserted at the front (F6 in docs/conformance.md).
func (d *draft) lookUp() {
	if d.rules == nil || !d.rules.Search || d.dialect != DeerGo {
		return
	}
	searches := func(s *step) bool { return slices.Contains(s.Needs, NeedSearch) }
	first := -1
	for i := range d.steps {
		if searches(&d.steps[i]) {
			return
		}
		if first < 0 && d.steps[i].Type == "research" {
			first = i
		}
	}
	if len(d.steps) == 0 {
		return
	}
	s := &d.steps[max(first, 0)]
	s.Type = "research"
	s.Needs = append(s.Needs, NeedSearch)
	d.warnings.add(events.CodeInvalid, s.at("need_web_search"), "no step looked anything up, this one does now", "")
}

// firstResearch adds the step of a plan without steps that must search for information.
func (d *draft) firstResearch() {
	if d.rules == nil || !d.rules.Search || d.dialect != DeerGo || len(d.steps) > 0 || d.plan.HasEnoughContext != nil && *d.plan.HasEnoughContext {
		return
	}
	s := step{path: "steps[0]", expertField: "step_type", goalField: "description", wish: true}
	title, goal := "Initial research", "Gather what is known about: "
	if Chinese(d.rules.Locale) {
		title, goal = "初步调研", "收集有关以下主题的资料："
	}
	s.SubJob = events.SubJob{ID: "step_1", Title: title, Goal: goal + firstOf(d.plan.Title, d.plan.Thought, d.plan.OrigQuery), Type: "research", Needs: []string{NeedSearch}}
	if s.Goal == goal {
		return
	}
	d.steps = append(d.steps, s)
	d.warnings.add(events.CodeMissing, "steps", "the plan had no step that looks something up, one was added", "")
}

// vagueSchedule makes a step run once if it wants to recur but does not say when.
func (d *draft) vagueSchedule(s *step) {
	if d.rules == nil || s.Schedule == nil || !strings.EqualFold(s.Schedule.Pattern, "recurring") || len(moment.Ways(s.Schedule)) > 0 {
		return
	}
	s.Schedule = nil
	d.warnings.add(events.CodeMissing, s.at("schedule"), "wants to recur but does not say when; it runs once", "name an interval or a time of day to have it recur")
}

// recur removes the schedule from steps whose expert may not recur, and words about time from the goals of the others.
func (d *draft) recur(s *step, c *catalog) {
	if d.rules == nil || s.Schedule == nil {
		return
	}
	if words := d.rules.Capabilities; len(words) > 0 && s.Expert != "" {
		hits := c.find(s.Expert)
		if len(hits) == 1 && !capable(&c.cards[hits[0]], words) {
			s.Schedule = nil
			d.warnings.add(events.CodeInvalid, s.at("schedule"), fmt.Sprintf("expert %s can neither watch nor notify; it runs once", s.Expert),
				"choose an expert whose skills name one of "+some(words, 12))
			return
		}
	}
	if d.rules.Strip {
		s.Goal = StripSchedule(s.Goal)
	}
}

// capable reports whether a skill, tag or sentence of a card contains one of the words.
func capable(card *events.Card, words []string) bool {
	text := strings.ToLower(strings.Join(slices.Concat(card.Skills, card.Tags, []string{card.Description}), "\n"))
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, strings.ToLower(word)) })
}

// Chinese reports whether a locale is Chinese.
func Chinese(locale string) bool {
	return strings.EqualFold(locale, "zh") || len(locale) > 2 && strings.EqualFold(locale[:3], "zh-")
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}
