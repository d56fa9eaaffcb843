package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/recommend"
)

// actionFaults are the faults of the agent's toolkit settings. Whether its actions exist is checked when it is built.
func (a *llmKind) actionFaults() (faults events.Faults) {
	add := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if a.Hops < 0 {
		add("hops", "must not be negative", "")
	}
	if a.Threshold != nil && !(*a.Threshold >= 0 && *a.Threshold <= 1) {
		add("threshold", fmt.Sprintf("%v is not from 0 to 1", *a.Threshold), "")
	}
	if (a.Hops != 0 || a.Threshold != nil) && len(a.actions()) == 0 {
		add("actions", "are missing: there is nothing to begin a recommendation with", "name actions of the toolkit, or leave hops and threshold out")
	}
	return faults
}

// actions are the actions of the card and of its steps.
func (a *llmKind) actions() []string {
	list := slices.Clone(a.Actions)
	for i := range a.Workflow {
		list = append(list, a.Workflow[i].Actions...)
	}
	return list
}

// equip gives an agent, and its steps, the tools that the toolkit recommends for their actions, and names them in the prompt. A
// message lists the existing actions. Without a configuration any action is accepted.
func (a *llmKind) equip(config *agent.Config, m *models) (message, hint string) {
	if !m.boxes.known {
		return "", ""
	}
	g := m.tools.Toolkit
	for _, name := range a.actions() {
		if _, there := g[name]; there {
			continue
		}
		hint = "describe it under toolkit in the configuration file"
		if near := host.Near(name, slices.Sorted(maps.Keys(g))); len(near) > 0 {
			hint = "did you mean " + near[0] + "?"
		}
		return fmt.Sprintf("there is no action %q", name), hint
	}
	ways := g.Recommend(a.wish(a.Actions))
	config.Prompt, config.Tools = advised(config.Prompt, ways), with(config.Tools, ways.Tools)
	for i := range a.Workflow {
		if len(a.Workflow[i].Actions) == 0 {
			continue
		}
		step := &config.Workflow[i]
		ways := g.Recommend(a.wish(a.Workflow[i].Actions))
		step.Instruction, step.Tools = advised(step.Instruction, ways), with(step.Tools, ways.Tools)
		config.Tools = with(config.Tools, ways.Tools)
	}
	return "", ""
}

// wish returns the query to the toolkit for some actions, with the card's number of hops and its threshold.
func (a *llmKind) wish(actions []string) recommend.Wish {
	w := recommend.Wish{Actions: actions, Hops: a.Hops, Threshold: recommend.DefaultThreshold}
	if a.Threshold != nil {
		w.Threshold = *a.Threshold
	}
	return w
}

// with returns list followed by the elements of more that it lacks; never nil.
func with(list, more []string) []string {
	all := append([]string{}, list...)
	for _, name := range more {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// advised appends the recommended actions and their tools to a text.
func advised(text string, r recommend.Recommendation) string {
	if len(r.Actions) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text + "\n\nWays to go about it:")
	for _, way := range r.Actions {
		b.WriteString("\n- " + way.Name)
		if way.Description != "" {
			b.WriteString(": " + strings.Join(strings.Fields(way.Description), " "))
		}
		if len(way.Tools) > 0 {
			b.WriteString(" (" + strings.Join(way.Tools, ", ") + ")")
		}
	}
	return strings.TrimSpace(b.String())
}
