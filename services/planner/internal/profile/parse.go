package profile

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// formatVersion is the only supported version of the files.
const formatVersion = 1

// parse reads one profile. It continues after a fault, so that all are reported together.
func parse(f file) (Entry, []error) {
	e := Entry{File: f.name, own: f.own}
	r := &reader{file: f.name}
	var doc yaml.Node
	if err := yaml.Unmarshal(f.data, &doc); err != nil {
		return e, []error{fmt.Errorf("%s: %w", f.name, plain(err))}
	}
	if len(doc.Content) == 0 {
		return e, []error{fmt.Errorf("%s:1:1: the file is empty", f.name)}
	}
	p := &e.Profile
	format := 0
	r.object(doc.Content[0], []field{
		{"version", r.number(&format, formatVersion, formatVersion)},
		{"name", r.text(&p.Name)},
		{"about", r.text(&e.About)},
		{"default", r.flag(&e.Default)},
		{"locale", r.text(&p.Locale)},
		{"finalize", r.word(&p.Finalize, "tails", "none", "summary", "report")},
		{"stages", func(n *yaml.Node) { p.Stages = words(r, n, planning.Optional()) }},
		{"dialect", func(n *yaml.Node) { p.Dialect = string(one(r, n, plan.Dialects())) }},
		{"prompts", r.texts(&p.Prompts)},
		{"cache", r.duration(&p.Cache)},
		{"knowledge", func(n *yaml.Node) {
			r.list(&p.Knowledge)(n)
			for _, f := range bases.Faults("knowledge", p.Knowledge) {
				r.fault(n, "%s", f.Error())
			}
		}},
		{"limits", func(n *yaml.Node) { r.object(n, r.limits(&p.Limits)) }},
		{"triage", func(n *yaml.Node) {
			r.object(n, []field{{"unreadable", r.word(&p.Triage.Unreadable, "plan", "answer", "guidance")}, {"direct", r.flag(&p.Triage.Direct)}})
		}},
		{"review", func(n *yaml.Node) { r.object(n, r.review(&p.Review)) }},
		{"schedule", func(n *yaml.Node) {
			r.object(n, []field{{"capabilities", r.list(&p.Schedule.Capabilities)}, {"strip", r.flag(&p.Schedule.Strip)}})
		}},
		{"plan", func(n *yaml.Node) {
			r.object(n, []field{
				{"enough", r.word(&p.Plan.Enough, "step", "answer")},
				{"inadequate", r.word(&p.Plan.Inadequate, "answer", "ask", "reject")},
				{"search", r.flag(&p.Plan.Search)},
				{"handoff", r.flag(&p.Plan.Handoff)},
			})
		}},
		{"investigate", func(n *yaml.Node) { r.object(n, r.investigate(&p.Investigate)) }},
		{"citations", r.word(&p.Citations, "mark", "remove", "keep")},
		{"failure_policy", r.word((*string)(&p.FailurePolicy), string(events.FailFast), string(events.Continue), string(events.Replan))},
		{"fallback", func(n *yaml.Node) { p.Fallback = words(r, n, planning.Rungs()) }},
	})
	p.Version = format
	r.need(doc.Content[0], "version", "name", "dialect", "limits")
	return e, r.faults
}

func (r *reader) limits(l *planning.Limits) []field {
	return []field{
		{"clarifications", r.number(&l.Clarifications, 0, 20)},
		{"repairs", r.number(&l.Repairs, 0, 20)},
		{"rounds", r.number(&l.Rounds, 1, 20)},
		{"reminders", r.number(&l.Reminders, 0, 20)},
		{"steps", r.number(&l.Steps, 1, 1<<20)},
		{"history_bytes", r.number(&l.HistoryBytes, 0, 1<<20)},
		{"finding_bytes", r.number(&l.FindingBytes, 0, 1<<20)},
		{"raw_bytes", r.number(&l.RawBytes, 0, 1<<20)},
	}
}

func (r *reader) review(v *planning.ReviewRules) []field {
	return []field{
		{"when", r.word(&v.When, "request", "always", "never")},
		{"expires", r.duration(&v.Expires)},
		{"unanswered", r.word((*string)(&v.Unanswered), string(events.Assume), string(events.FailUnanswered))},
		{"on_expiry", r.word(&v.OnExpiry, "reject", "accept")},
		{"at_limit", r.word(&v.AtLimit, "ask", "accept", "reject")},
	}
}

func (r *reader) investigate(v *planning.InvestigateRules) []field {
	return []field{
		{"when", r.word(&v.When, "request", "always", "never")},
		{"expert", r.text(&v.Expert)},
		{"needs", r.text(&v.Needs)},
		{"tool", r.text(&v.Tool)},
		{"status", r.list(&v.Status)},
		{"timeout", r.durationUpTo(&v.Timeout, planning.MaxInvestigation)},
	}
}

// plain removes the library's name from its errors.
func plain(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}
