package joblog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Handoff is the kind of the component that marks the beginning and the end of a handed-off SubJob's session.
const Handoff = "subagent_conversation"

// maxToldSteps is the number of SubJobs up to which the results of single steps are part of the conversation.
const maxToldSteps = 50

// Job is what Said needs to know of the job of an event.
type Job struct {
	Goal     string                     // Goal is what the job was asked for, or its beginning.
	Schedule string                     // Schedule is the schedule that started it; empty if none did.
	Steps    int                        // Steps is the number of SubJobs of its graph.
	Expert   func(subjob string) string // Expert names the expert of a SubJob; nil if unknown.
}

// Said returns what an event of a job's log, with its plan resolved, tells people, in order; nil for most events. The same event
// always gives the same items. Texts are cut; a result that is stored as a blob has a reference and no text.
func Said(e *events.Event, job Job) []item.Item {
	s := said{e: e, job: job}
	switch d := e.Data.(type) {
	case *events.JobRequested:
		s.requested(&d.Request)
	case *events.GraphCreated:
		s.planned(d.Plan, d.Warnings)
	case *events.PlanEdited:
		s.planned(d.Plan, nil)
	case *events.InputRequested:
		s.asked(d)
	case *events.InputClosed:
		s.closed(d)
	case *events.SubJobReported:
		s.reported(d)
	case *events.SubJobProgressed:
		if strings.HasPrefix(e.SubJob, "~") {
			return nil // Stages of planning are not milestones of the work.
		}
		s.add(item.Item{Type: item.Progress, ID: "progress/" + s.seq(), Text: d.Message, Data: data(d), Done: true})
	case *events.SessionMoved:
		s.add(item.Item{
			Type: item.Component, ID: string(e.Kind) + "/" + d.SubJob, SubJob: d.SubJob, Component: Handoff, Data: data(map[string]any{
				"session": d.Session, "phase": map[bool]string{true: "start", false: "end"}[e.Kind == events.KindSessionStarted], "status": d.Status,
			}), Done: true,
		})
	case *events.JobEnded:
		s.ended(d)
	}
	return s.list
}

// said collects the items of one event.
type said struct {
	e    *events.Event
	job  Job
	list []item.Item
}

func (s *said) seq() string { return strconv.FormatUint(s.e.Seq, 10) }

// add adds an item of the event, with its texts cut.
func (s *said) add(i item.Item) {
	i.At, i.Job = s.e.Time.UTC(), s.e.Job
	if i.SubJob == "" {
		i.SubJob, i.Run = s.e.SubJob, s.e.Run
	}
	if i.SubJob == events.PlanID || i.SubJob == events.FinalID {
		i.SubJob = "" // These items belong to the job itself.
	}
	if i.Expert == "" && i.SubJob != "" && s.job.Expert != nil {
		i.Expert = s.job.Expert(i.SubJob)
	}
	text := clip.Text(i.Text, item.MaxText)
	i.Text, i.Truncated = text, i.Truncated+len(i.Text)-len(text)
	if len(i.Data) > item.MaxData {
		i.Data = nil
	}
	s.list = append(s.list, i)
}

func (s *said) requested(r *events.Request) {
	if id := r.Labels[schedule.Label]; id != "" {
		s.add(item.Item{Type: item.Schedule, ID: "schedule", Text: r.Goal, Data: data(map[string]string{"schedule": id})})
		return
	}
	s.add(item.Item{Type: item.Message, ID: "request", Text: r.Goal, User: r.User, Expert: r.Expert, Done: true})
}

// step is a step of a plan, as conversations show it.
type step struct {
	ID       string `json:"id"`
	Title    string `json:"title,omitempty"`
	Goal     string `json:"goal,omitempty"`
	Expert   string `json:"expert,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

// planned adds the planner's thoughts, its message to the person, what it changed, and the steps.
func (s *said) planned(p *events.Plan, warnings events.Faults) {
	if p == nil {
		return
	}
	if p.Thought != "" {
		s.add(item.Item{Type: item.Thinking, ID: "thought/" + s.seq(), Text: p.Thought, Done: true})
	}
	if p.GuidanceMessage != "" {
		s.add(item.Item{Type: item.Guidance, ID: "guidance/" + s.seq(), Text: p.GuidanceMessage, Done: true})
	}
	for i := range warnings {
		s.add(item.Item{Type: item.Warning, ID: fmt.Sprintf("warning/%s/%d", s.seq(), i), Text: warnings[i].Message, Data: data(&warnings[i]), Done: true})
	}
	var text, thoughts strings.Builder
	steps := []step{}
	for i := range p.SubJobs {
		j := &p.SubJobs[i]
		if len(steps) == maxToldSteps {
			text.WriteString("… and " + strconv.Itoa(len(p.SubJobs)-maxToldSteps) + " more\n")
			break
		}
		expert := j.ExpertName
		if expert == "" {
			expert = j.Expert
		}
		steps = append(steps, step{j.ID, j.Title, clip.Text(j.Goal, maxGoal), expert, clip.Text(j.Thinking, maxGoal)})
		title := j.Title
		if title == "" {
			title, _, _ = strings.Cut(clip.Text(j.Goal, maxGoal), "\n")
		}
		if j.Thinking != "" {
			thoughts.WriteString("Step " + strconv.Itoa(i+1) + ": " + clip.Text(j.Thinking, maxGoal) + "\n")
		}
		text.WriteString(strconv.Itoa(i+1) + ". " + title)
		if expert != "" {
			text.WriteString(" (" + expert + ")")
		}
		text.WriteByte('\n')
	}
	if thoughts.Len() > 0 {
		s.add(item.Item{Type: item.Thinking, ID: "thoughts/" + s.seq(), Text: strings.TrimSpace(thoughts.String()), Done: true})
	}
	if len(p.SubJobs) == 1 && s.job.Goal != "" && strings.HasPrefix(p.SubJobs[0].Goal, s.job.Goal) && p.Title == "" {
		return // A single step that is the request itself tells nothing new.
	}
	s.add(item.Item{
		Type: item.Plan, ID: "plan/" + s.seq(), Text: strings.TrimSpace(text.String()), Data: data(map[string]any{"title": p.Title, "steps": steps}), Done: true,
	})
}

// maxGoal is how much of a step's goal and thinking a conversation shows, in bytes.
const maxGoal = 300

func (s *said) asked(d *events.InputRequested) {
	if d.Kind == events.InputTimer {
		return // The request waits for a time, not for a person.
	}
	prompt, _, _ := strings.Cut(d.Prompt, "\n"+item.Before+"\n")
	s.add(item.Item{Type: item.Question, ID: "question/" + d.Request, Request: d.Request, Text: prompt, Data: data(map[string]any{
		"kind": d.Kind, "options": d.Options, "schema": d.Schema, "for": d.User,
	}), Done: true})
}

func (s *said) closed(d *events.InputClosed) {
	text := ""
	switch d.Action {
	case events.Answered:
		text = AnswerText(d.Answer)
	case events.Expired:
		text = "no answer came in time"
	case events.Cancelled:
		text = "the question was withdrawn"
	}
	s.add(item.Item{
		Type: item.Answer, ID: "answer/" + s.e.Key, Request: s.e.Key, User: d.By, Text: text, Data: data(map[string]any{"action": d.Action, "answer": d.Answer}), Done: true,
	})
}

// reported adds the calls of a run, the result of a step if the job has several, and any error.
func (s *said) reported(d *events.SubJobReported) {
	if strings.HasPrefix(s.e.SubJob, "~") {
		return
	}
	if s.job.Steps <= maxToldSteps {
		for n, c := range d.Calls {
			s.add(item.Item{
				Type: item.Tool, ID: "call/" + strconv.Itoa(n), Tool: c.Tool, Args: c.Args, Outcome: c.Outcome, Text: strings.TrimSpace(c.Tool + " " + c.Args + "  " + c.Outcome), Done: true,
			})
		}
	}
	if d.Outcome != events.Success {
		text := d.Lesson
		if d.Error != nil {
			text = d.Error.Message
		}
		if text != "" {
			s.add(item.Item{Type: item.Warning, ID: "failed", Text: text, Data: data(map[string]any{"outcome": d.Outcome}), Done: true})
		}
		return
	}
	if s.job.Steps > 1 && s.job.Steps <= maxToldSteps {
		s.add(item.Item{Type: item.Text, ID: "result", Text: AnswerText(d.Output), Ref: d.OutputRef, Done: true})
	}
}

func (s *said) ended(d *events.JobEnded) {
	i := item.Item{Type: item.Result, ID: "result/" + strconv.Itoa(d.Turn), Text: AnswerText(d.Result), Ref: d.ResultRef, Done: true}
	about := map[string]any{"status": d.Status}
	if s.job.Schedule != "" {
		i.Type, i.ID = item.Schedule, "schedule"
		about["schedule"] = s.job.Schedule
	}
	if d.Status != events.Finished && d.Error != nil {
		about["error"] = d.Error
		if i.Text == "" {
			i.Text = d.Error.Message
		}
	}
	if i.Text == "" && i.Ref == nil {
		i.Text = d.Reason
	}
	i.Data = data(about)
	s.add(i)
}

// AnswerText formats a JSON answer for people: a string as it is, the choice of a review or an approval in words, and any other
// value as JSON.
func AnswerText(value json.RawMessage) string {
	var text string
	if len(value) == 0 || json.Unmarshal(value, &text) == nil {
		return text
	}
	var choice struct {
		Action   string `json:"action"`
		Approved *bool  `json:"approved"`
		Text     string `json:"text"`
		Reason   string `json:"reason"`
	}
	if value[0] == '{' && json.Unmarshal(value, &choice) == nil {
		word := choice.Action
		if choice.Approved != nil {
			word = map[bool]string{true: "approved", false: "rejected"}[*choice.Approved]
		}
		if word != "" {
			return strings.TrimSuffix(strings.Join([]string{word, strings.TrimSpace(choice.Text + choice.Reason)}, ": "), ": ")
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value)
	}
	return compact.String()
}

// data returns a value as JSON; nil if it cannot be written.
func data(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}
