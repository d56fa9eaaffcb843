package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Step is one part of an agent's workflow.
type Step struct {
	conversation.Step
	// Tools are the agent's tools that the step may use, by name or pattern, nil for all; Required are those that it must
	// use.
	Tools, Required []string
	// Schema is the JSON Schema of the step's result, nil for any. In the last step the schemas of the SubJob and the agent take
	// precedence.
	Schema json.RawMessage
}

// steps returns the workflow without tools and schemas, as conversation.Order takes it.
func (c *Config) steps() []conversation.Step {
	list := make([]conversation.Step, len(c.Workflow))
	for i := range c.Workflow {
		list[i] = c.Workflow[i].Step
	}
	return list
}

// stepFaults lists everything that makes a workflow unusable.
func (c *Config) stepFaults() events.Faults {
	if len(c.Workflow) == 0 {
		return nil
	}
	_, faults := conversation.Order(c.steps())
	fault := func(i int, key, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("workflow[%d].%s", i, key), Message: message, Hint: hint})
	}
	if len(c.Required) > 0 {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "required_tools", Message: "a workflow does not say which step has to use them", Hint: "name them under required_tools of the step",
		})
	}
	for i := range c.Workflow {
		s := &c.Workflow[i]
		for _, name := range s.Tools {
			if !covered(c.Tools, name) {
				fault(i, "tools", fmt.Sprintf("tool %q is none of the expert's tools", name), "name it under tools of the card, too")
			}
		}
		own := s.Tools
		if own == nil {
			own = c.Tools
		}
		for _, name := range s.Required {
			if !covered(own, name) || name == conversation.Terminate {
				fault(i, "required_tools", fmt.Sprintf("required tool %q is none of the step's tools", name), "name it under tools, too")
			}
		}
		if _, err := newForm(s.Schema); err != nil {
			fault(i, "output_schema", err.Error(), "")
		}
	}
	return faults
}

// covered reports whether a name or a pattern is among names and patterns.
func covered(patterns []string, name string) bool {
	return slices.Contains(patterns, name) || slices.ContainsFunc(patterns, func(pattern string) bool { return policy.Matches(pattern, name) })
}

// work is what the conversations of a run share, and their results so far, by step.
type work struct {
	brief conversation.Brief
	given map[string]json.RawMessage
	had   conversation.Before
}

// step holds the conversation of a step, by its position in the order.
func (r *run) step(ctx context.Context, w *work, at int) (ending conversation.Ending, over *task.Ending) {
	i := r.order[at]
	s := &r.config.Workflow[i]
	schema := s.Schema
	if at == len(r.order)-1 {
		schema = r.schema(schema)
	}
	read, err := newForm(schema)
	if err != nil {
		return ending, new(task.Failure(events.CodeInvalid, "the SubJob's output_schema cannot be used", err.Error(), "correct the plan"))
	}
	r.lend(s.Tools)
	read.careful, read.trusted = r.isCareful, r.trusted
	r.exchange = exchange{part: s.ID, model: cmp.Or(r.task.Work.Model, r.config.Model), advisor: r.config.advisor(), schema: schema}
	brief := w.brief
	brief.Schema, brief.Step, brief.Shelf = schema, s.Step, slices.Contains(r.names, tool.ListKnowledge)
	for _, before := range conversation.Preceding(r.config.steps(), i) {
		brief.Given = append(brief.Given, conversation.Given{ID: before, Output: w.given[before]})
	}
	rules := r.rules(read, w.had)
	rules.Required, rules.Summary = s.Required, r.config.Summary && schema == nil
	recalled, err := r.recall(ctx, &brief)
	if err != nil {
		return ending, new(unprepared(err))
	}
	brief.Recalled = recalled
	opening := conversation.Opening(&brief)
	r.exchange.began = &beginning{Part: s.ID, Next: r.behind(at), Rules: rules, Opening: opening, Tools: r.names, Schema: schema}
	m := conversation.New(rules, opening)
	ending, over = r.converse(ctx, m)
	w.had, w.given[s.ID] = m.So(), ending.Output
	return of(s.ID, ending), over
}

// behind returns the part after a finished step; nil for none.
func (r *run) behind(at int) *string {
	switch {
	case at+1 < len(r.order):
		return new(r.config.Workflow[r.order[at+1]].ID)
	case r.evaluates():
		return new(evaluationPart)
	}
	return nil
}

// schema returns the JSON Schema of the run's result: the SubJob's, the expert's, or that of the last step; nil for any.
func (r *run) schema(last json.RawMessage) json.RawMessage {
	switch own := r.task.Work.Spec.OutputSchema; {
	case own != nil:
		return own
	case r.config.Schema != nil:
		return r.config.Schema
	}
	return last
}

// lend selects the tools of a conversation by patterns; nil selects all.
func (r *run) lend(patterns []string) {
	r.tools, r.names = map[string]tool.Tool{}, nil
	for _, name := range r.listed {
		if patterns != nil && !covered(patterns, name) {
			continue
		}
		r.names = append(r.names, name)
		if t, there := r.all[name]; there {
			r.tools[name] = t
		}
	}
}

// advisor returns the configured name of the advising model.
func (c *Config) advisor() string { return cmp.Or(c.Advisor, c.Model) }

// rules returns the rules of a conversation with tools.
func (r *run) rules(read *form, had conversation.Before) conversation.Rules {
	c := &r.config
	return conversation.Rules{
		Mode: c.Mode, Delivered: delivered, Before: had, Turns: c.MaxTurns, Tokens: c.MaxTokens, Time: c.MaxTime, Left: r.task.Work.Budget,
		Observation: c.Observation, Context: c.Context, Tools: len(r.names) > 0, Structured: read.schema != nil, Careful: true, Read: read.read,
	}
}

// inStep begins the description of a fault in a step.
func inStep(id string) string { return "step " + id + ": " }

// of adds the name of a workflow step to its ending.
func of(id string, e conversation.Ending) conversation.Ending {
	if id == "" || e.Fault == nil && !e.Incomplete {
		return e
	}
	if e.Fault != nil {
		fault := *e.Fault
		fault.Message = inStep(id) + fault.Message
		e.Fault = &fault
	}
	e.Lesson = "In step " + id + ": " + e.Lesson
	return e
}
