package plan

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Decision is the answer of a planner without a model: a graph, an answer or a rejection.
type Decision struct {
	Result
	// Kind is the kind of the event to publish.
	Kind events.Kind
	// Final is the card of the expert that makes the job's result, or nil.
	Final *events.Card
}

// Decide answers planning work. raw is the request's plan, with references resolved, or empty. The expert that the request
// names takes precedence over the default expert in the options.
func Decide(w *events.Work, raw []byte, cards []events.Card, o Options) Decision {
	r := w.Request
	switch {
	case w.Kind == events.WorkSplit:
		return Reject(events.Fault{
			Code: events.CodeNoPlanner, Field: "subjob", Message: "SubJob " + clip.Marked(w.SubJob, 80) + " is too complicated for its expert, and there is no model to split it",
			Hint: "give it as smaller steps in the plan, or give the planner a model",
		})
	case w.Kind == events.WorkReplan:
		return Reject(events.Fault{
			Code: events.CodeNoPlanner, Field: "plan", Message: "the rest of the job would have to be planned again, and there is no model to do it",
			Hint: "edit the plan and recover the job, use another failure_policy, or give the planner a model",
		})
	case w.Kind != events.WorkPlan:
		return Reject(events.Fault{Code: events.CodeInvalid, Field: "kind", Message: "a planner does not do work of kind " + clip.Marked(string(w.Kind), 40)})
	case r == nil:
		return Reject(events.Fault{Code: events.CodeMissing, Field: "request", Message: "the planning work bears no request"})
	}
	return planned(w, raw, cards, o)
}

func planned(w *events.Work, raw []byte, cards []events.Card, o Options) Decision {
	r := w.Request
	o.MaxSteps = w.MaxSteps
	o.Done = w.Finished
	var result Result
	switch {
	case len(raw) > 0:
		if r.Expert != "" {
			o.DefaultExpert = r.Expert
		}
		result = Check(raw, cards, o)
	case strings.TrimSpace(r.Expert) != "":
		result = Single(r, cards, o.Version)
	default:
		return Reject(events.Fault{
			Code: events.CodeNoPlanner, Field: "plan", Message: "the job has a goal but no plan, and there is no model to make one",
			Hint: "give the planner a model: set the key of a provider (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY …), or OPENAI_BASE_URL and OPENAI_MODEL of a local one " +
				"(jobgraph finds Ollama and llama.cpp by itself at a terminal), or try the scripted one with --model fake; or send a plan (see `jobgraph plan template`), or name an expert that takes the whole goal",
		})
	}
	final, fault := Finaliser(r.Finalize, cards)
	if fault != nil {
		result.Faults = append(result.Faults, *fault)
	}
	d := Decision{Result: result, Final: final}
	switch {
	case len(result.Faults) > 0:
		d.Kind, d.Plan, d.Answer = events.KindPlanRejected, nil, ""
	case result.Answer != "":
		d.Kind = events.KindJobAnswered
	default:
		d.Kind = events.KindGraphCreated
		complete(d.Plan, r)
	}
	return d
}

// complete fills fields that the plan leaves out from the request.
func complete(p *events.Plan, r *events.Request) {
	if p.Locale == "" {
		p.Locale = r.Locale
	}
	if p.OrigQuery == "" && len(r.Goal) <= MaxText {
		p.OrigQuery = r.Goal
	}
}

// Reject returns a rejection with one fault.
func Reject(fault events.Fault) Decision {
	return Decision{Kind: events.KindPlanRejected, Result: Result{Faults: events.Faults{fault}}}
}

// Absent reports whether the plan lacks nothing but experts that are not registered; a runner may announce them soon.
func (d *Decision) Absent() bool {
	for i := range d.Faults {
		if d.Faults[i].Code != events.CodeUnknownExpert {
			return false
		}
	}
	return len(d.Faults) > 0
}
