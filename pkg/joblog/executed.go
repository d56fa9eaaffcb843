package joblog

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Executed returns the present graph of a job as a plan: each step with its result, as execution_res or, if it is stored as
// a blob, as execution_ref, and with its files. A step without a result has none of them. It is nil before there is a graph.
func (l *Log) Executed() *events.Plan {
	state := l.Job.View()
	if state.PlanVersion == 0 {
		return nil
	}
	p := l.head()
	p.Title, p.SubJobs = state.Title, []events.SubJob{}
	for _, n := range state.SubJobs {
		if !InGraph(n) {
			continue
		}
		s, _ := l.Text(n.Spec)
		s.ID, s.Dependencies = n.ID, nil
		s.ExecutionRes, s.ExecutionRef, s.Artifacts = nil, nil, nil
		if n.Status == events.Finished {
			r := l.Result(n)
			s.ExecutionRes, s.ExecutionRef, s.Artifacts = r.Output, r.Ref, r.Artifacts
		}
		for _, at := range n.Deps {
			if d := state.SubJobs[at]; InGraph(d) {
				s.Dependencies = append(s.Dependencies, d.ID)
			}
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	return p
}

// head returns the latest plan of the whole job without its steps.
func (l *Log) head() *events.Plan {
	p := &events.Plan{}
	for i := range l.Events {
		created, ok := l.Events[i].Data.(*events.GraphCreated)
		if ok && l.Events[i].SubJob == events.PlanID && created.Plan != nil {
			*p = *created.Plan
		}
	}
	return p
}

// Research is a plan in the form of deer-go, with the results of its steps.
type Research struct {
	// Locale, HasEnoughContext, Thought and Title are those of the plan.
	Locale           string `json:"locale"`
	HasEnoughContext bool   `json:"has_enough_context"`
	Thought          string `json:"thought"`
	Title            string `json:"title"`
	// Steps are in the order of the graph.
	Steps []ResearchStep `json:"steps"`
}

// ResearchStep is a step of Research.
type ResearchStep struct {
	// NeedWebSearch says whether the step looks something up on the web.
	NeedWebSearch bool `json:"need_web_search"`
	// Title, Description and StepType are those of the step.
	Title       string `json:"title"`
	Description string `json:"description"`
	StepType    string `json:"step_type"`
	// ExecutionRes is the result as text; nil if there is none, or if it is stored as a blob that get cannot read.
	ExecutionRes *string `json:"execution_res,omitempty"`
}

// ResearchOf returns a plan in the form of deer-go. get reads results that are stored as blobs.
func ResearchOf(p *events.Plan, get Payloads) Research {
	r := Research{Locale: p.Locale, Thought: p.Thought, Title: p.Title, HasEnoughContext: p.HasEnoughContext != nil && *p.HasEnoughContext, Steps: []ResearchStep{}}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		step := ResearchStep{Title: s.Title, Description: s.Goal, StepType: s.Type}
		for _, need := range s.Needs {
			step.NeedWebSearch = step.NeedWebSearch || need == "web_search"
		}
		raw := s.ExecutionRes
		if s.ExecutionRef != nil && len(raw) == 0 {
			raw, _ = get(*s.ExecutionRef) // What cannot be read is left out.
		}
		if len(raw) > 0 {
			text := string(raw)
			_ = json.Unmarshal(raw, &text) // Anything but a string stays JSON.
			step.ExecutionRes = &text
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}
