package history

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// mostStep limits the result of one step, in bytes.
const mostStep = 600

// story collects what the log says about one job.
type story struct {
	request *events.Request
	steps   []*events.SubJob
	outputs map[string]json.RawMessage
	end     *events.JobEnded
	// asked are the ids of questions in order, prompts and replies belong to them.
	asked            []string
	prompts, replies map[string]string
}

// take adds an event.
func (s *story) take(e *events.Event) {
	switch d := e.Data.(type) {
	case *events.JobRequested:
		s.request = &d.Request
	case *events.GraphCreated:
		if e.SubJob == events.PlanID && d.Plan != nil {
			s.plan(d.Plan)
		}
	case *events.SubJobReported:
		if d.Outcome == events.Success && e.SubJob != events.FinalID {
			s.output(e.SubJob, d.Output)
		}
	case *events.InputRequested:
		if d.Kind != events.InputTimer {
			s.ask(d)
		}
	case *events.InputClosed:
		s.replied(e.Key, d)
	case *events.JobEnded:
		s.end = d
	}
}

// ask stores a question, up to mostAsked of them.
func (s *story) ask(d *events.InputRequested) {
	if s.prompts == nil {
		s.prompts, s.replies = map[string]string{}, map[string]string{}
	}
	if len(s.asked) < mostAsked {
		s.asked, s.prompts[d.Request] = append(s.asked, d.Request), d.Prompt
	}
}

func (s *story) replied(request string, d *events.InputClosed) {
	if _, asked := s.prompts[request]; asked {
		reply := joblog.AnswerText(d.Answer)
		if d.Action != events.Answered {
			reply = "(" + string(d.Action) + ")"
		}
		s.replies[request] = reply
	}
}

// mostAsked limits the questions of one job.
const mostAsked = 20

// plan stores the steps of a plan, replacing those of an earlier plan.
func (s *story) plan(p *events.Plan) {
	s.steps = nil
	for i := range p.SubJobs[:min(len(p.SubJobs), mostSteps)] {
		s.steps = append(s.steps, &p.SubJobs[i])
	}
}

func (s *story) output(subjob string, output json.RawMessage) {
	if s.outputs == nil {
		s.outputs = map[string]json.RawMessage{}
	}
	s.outputs[subjob] = output
}

// tell builds the turn. Each of its texts has at most most bytes.
func (s *story) tell(answer json.RawMessage, most int) planning.Turn {
	t := planning.Turn{User: clip.Marked(s.request.Goal, most), Answer: clip.Marked(plain(answer), most)}
	switch {
	case s.end == nil:
	case s.end.Status == events.Finished && t.Answer == "":
		t.Answer = "(done, without a result)"
	case s.end.Status != events.Finished:
		reason := ""
		if s.end.Error != nil {
			reason = ": " + s.end.Error.Message
		}
		t.Answer = strings.TrimSpace("(" + strings.ToLower(string(s.end.Status)) + reason + ") " + t.Answer)
	}
	for _, id := range s.asked {
		text := clip.Marked(s.prompts[id], mostStep)
		if reply := s.replies[id]; reply != "" {
			text += " → " + clip.Marked(reply, mostStep)
		}
		t.Asked = append(t.Asked, clip.Marked(text, most))
	}
	for _, step := range s.steps {
		t.Steps = append(t.Steps, clip.Marked(s.step(step, t.Answer), most))
	}
	return t
}

// step describes a step: its goal, its expert and why that was chosen, and its result unless the result equals the answer.
func (s *story) step(step *events.SubJob, answer string) string {
	text := cmp.Or(step.Title, step.Goal)
	if name := cmp.Or(step.ExpertName, step.Expert); name != "" {
		text += " (" + name + ")"
	}
	if step.Thinking != "" {
		text += ": " + step.Thinking
	}
	if output := plain(s.outputs[step.ID]); output != "" && output != answer {
		text += " → " + clip.Marked(output, mostStep)
	}
	return text
}

// plain returns the value of a JSON string, or any other JSON unchanged.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	return string(value)
}
