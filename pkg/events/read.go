package events

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// decode decodes the body of an event of a known kind.
func (e *Event) decode(d Definition, body []byte) {
	data, err := d.New(), error(nil)
	if !readPlain(body, data) {
		data = d.New()
		if err = json.Unmarshal(body, data); err == nil && !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
			err = errors.New("want a JSON object")
		}
	}
	if c, ok := data.(interface{ check(*Event) error }); ok && err == nil {
		err = c.check(e)
	}
	if err != nil {
		e.spoil(body, err)
		return
	}
	e.Data = data
}

func (e *Event) spoil(body []byte, err error) {
	e.Raw, e.Fault = body, &Fault{Code: CodeMalformed, Message: "malformed " + string(e.Kind), Cause: err.Error()}
}

// ReadWork decodes a work message's body as json.Unmarshal does, without reflection if it has our own form. It overwrites w.
func ReadWork(body []byte, w *Work) error {
	*w = Work{}
	if readPlain(body, w) {
		return nil
	}
	*w = Work{}
	return json.Unmarshal(body, w)
}

func (d *Work) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "kind":
			return s.Text((*string)(&d.Kind))
		case "job":
			return s.Text(&d.Job)
		case "subjob":
			return s.Text(&d.SubJob)
		case "run":
			return s.Int(&d.Run)
		case "attempt":
			return s.Int(&d.Attempt)
		case "spec":
			return s.Object(d.Spec.scan(s))
		case "goal":
			return s.Text(&d.Goal)
		case "context":
			return s.Text(&d.Context)
		case "completion_criteria":
			return s.Text(&d.CompletionCriteria)
		case "results":
			return s.Object(d.scanResult(s))
		case "brief":
			return s.Raw(&d.Brief)
		case "life_cycle":
			return s.Int(&d.LifeCycle)
		case "report_subject":
			return s.Text(&d.ReportSubject)
		case "report_id":
			return s.Text(&d.ReportID)
		case "idempotency_key":
			return s.Text(&d.IdempotencyKey)
		case "claim_subject":
			return s.Text(&d.ClaimSubject)
		case "item_subject":
			return s.Text(&d.ItemSubject)
		case "cancel_subject":
			return s.Text(&d.CancelSubject)
		case "lease":
			var text string
			return s.Text(&text) && d.Lease.UnmarshalText([]byte(text)) == nil
		}
		return d.scanRare(string(key), s)
	}
}

// scanRare reads fields that most work messages lack.
func (d *Work) scanRare(key string, s *plainjson.Scanner) bool {
	switch key {
	case "former":
		return s.Value(&d.Former)
	case "resume_of":
		return s.Int(&d.ResumeOf)
	case "inputs":
		return s.Value(&d.Inputs)
	case "lessons":
		return s.Texts(&d.Lessons)
	case "select":
		return s.Texts(&d.Select)
	case "session":
		return s.Text(&d.Session)
	case "thread":
		return s.Text(&d.Thread)
	case "user":
		return s.Text(&d.User)
	case "locale":
		return s.Text(&d.Locale)
	case "history":
		return s.Raw(&d.History)
	case "history_ref":
		return s.Value(&d.HistoryRef)
	case "brief_ref":
		return s.Value(&d.BriefRef)
	case "request":
		d.Request = &Request{}
		return s.Object(d.Request.scan(s))
	case "plan_version":
		return s.Int(&d.PlanVersion)
	case "max_steps":
		return s.Int(&d.MaxSteps)
	case "finished":
		return s.Texts(&d.Finished)
	case "inputs_ref":
		return s.Value(&d.InputsRef)
	case "attachments":
		return s.Value(&d.Attachments)
	case "results_ref":
		return s.Value(&d.ResultsRef)
	case "answers":
		return s.Value(&d.Answers)
	case "deadline":
		return s.Time(&d.Deadline)
	case "budget":
		return s.Value(&d.Budget)
	case "evaluator":
		return s.Value(&d.Evaluator)
	case "model":
		return s.Text(&d.Model)
	case "parent_session":
		return s.Text(&d.Parent)
	case "knowledge":
		return s.Texts(&d.Knowledge)
	case "tools":
		return s.Value(&d.Tools)
	}
	return false
}

func (d *Work) scanResult(s *plainjson.Scanner) func(key []byte) bool {
	d.Results = map[string]Result{}
	return func(id []byte) bool {
		var r Result
		if !s.Object(func(key []byte) bool {
			switch string(key) {
			case "output":
				return s.Raw(&r.Output)
			case "run":
				return s.Int(&r.Run)
			case "skipped":
				return s.Bool(&r.Skipped)
			case "output_ref":
				return s.Value(&r.OutputRef)
			case "artifacts":
				return s.Value(&r.Artifacts)
			}
			return false
		}) {
			return false
		}
		d.Results[string(id)] = r
		return true
	}
}

func (j *SubJob) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "id":
			return s.Text(&j.ID)
		case "name":
			return s.Text(&j.Name)
		case "goal":
			return s.Text(&j.Goal)
		case "title":
			return s.Text(&j.Title)
		case "context":
			return s.Text(&j.Context)
		case "completion_criteria":
			return s.Text(&j.CompletionCriteria)
		case "dependencies":
			return s.Texts(&j.Dependencies)
		case "expert":
			return s.Text(&j.Expert)
		case "expert_name":
			return s.Text(&j.ExpertName)
		case "pool":
			return s.Text(&j.Pool)
		case "pure":
			return s.Bool(&j.Pure)
		case "handoff":
			return s.Bool(&j.Handoff)
		case "type":
			return s.Text(&j.Type)
		case "thinking":
			return s.Text(&j.Thinking)
		case "output_schema":
			return s.Raw(&j.OutputSchema)
		case "execution_res":
			return s.Raw(&j.ExecutionRes)
		case "timeout":
			return s.Value(&j.Timeout)
		case "retries":
			return s.Value(&j.Retries)
		}
		return j.scanRare(string(key), s)
	}
}

// scanRare reads fields that most SubJobs lack.
func (j *SubJob) scanRare(key string, s *plainjson.Scanner) bool {
	switch key {
	case "tag":
		return s.Text(&j.Tag)
	case "needs":
		return s.Texts(&j.Needs)
	case "language":
		return s.Text(&j.Language)
	case "life_cycle":
		return s.Value(&j.LifeCycle)
	case "when":
		return s.Text(&j.When)
	case "schedule":
		return s.Value(&j.Schedule)
	case "execution_ref":
		return s.Value(&j.ExecutionRef)
	case "artifacts":
		return s.Value(&j.Artifacts)
	}
	return false
}

// ReadPlan decodes a plan in native form in the way of ReadWork. It overwrites p.
func ReadPlan(body []byte, p *Plan) error {
	*p = Plan{}
	if readPlain(body, p) {
		return nil
	}
	*p = Plan{}
	return json.Unmarshal(body, p)
}

func (p *Plan) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "plan_id":
			return s.Text(&p.PlanID)
		case "title":
			return s.Text(&p.Title)
		case "locale":
			return s.Text(&p.Locale)
		case "thought":
			return s.Text(&p.Thought)
		case "has_enough_context":
			return s.Value(&p.HasEnoughContext)
		case "adequate":
			return s.Value(&p.Adequate)
		case "reason":
			return s.Text(&p.Reason)
		case "guidance_message":
			return s.Text(&p.GuidanceMessage)
		case "orig_query":
			return s.Text(&p.OrigQuery)
		case "created_at":
			return s.Text(&p.CreatedAt)
		case "subjobs":
			p.SubJobs = make([]SubJob, 0, min(s.Count(`"goal":`), 1<<14))
			return s.List(func() bool {
				p.SubJobs = append(p.SubJobs, SubJob{})
				return s.Object(p.SubJobs[len(p.SubJobs)-1].scan(s))
			})
		}
		return false
	}
}

// plain is a payload that can be decoded without reflection if it has the form that we write.
type plain interface {
	scan(s *plainjson.Scanner) func(key []byte) bool
}

// readPlain reports whether it read the whole body; if not, its result is invalid.
func readPlain(body []byte, into any) bool {
	q, ok := into.(plain)
	if !ok {
		return false
	}
	s := plainjson.NewScanner(body)
	return s.Object(q.scan(s)) && s.End()
}

func (r *SubJobReported) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "outcome":
			return s.Text((*string)(&r.Outcome))
		case "output":
			return s.Raw(&r.Output)
		case "lesson":
			return s.Text(&r.Lesson)
		case "started":
			return s.Time(&r.Started)
		case "duration_ms":
			return s.Int64(&r.DurationMS)
		case "owner":
			return s.Text(&r.Owner)
		case "tokens":
			return s.Int64(&r.Tokens)
		case "cost_usd":
			return s.Value(&r.CostUSD)
		}
		return r.scanRare(string(key), s)
	}
}

// scanRare reads fields that most reports lack.
func (r *SubJobReported) scanRare(key string, s *plainjson.Scanner) bool {
	switch key {
	case "output_ref":
		return s.Value(&r.OutputRef)
	case "artifacts":
		return s.Value(&r.Artifacts)
	case "warnings":
		return s.Value(&r.Warnings)
	case "error":
		return s.Value(&r.Error)
	case "selected":
		return s.Value(&r.Selected)
	case "log":
		return s.Text(&r.Log)
	case "log_ref":
		return s.Value(&r.LogRef)
	case "calls":
		return s.Value(&r.Calls)
	case "retry_after":
		return s.Value(&r.RetryAfter)
	case "job":
		return s.Text(&r.Job)
	case "subjob":
		return s.Text(&r.SubJob)
	case "run":
		return s.Int(&r.Run)
	case "malformed":
		return s.Text(&r.Malformed)
	}
	return false
}

func (g *GraphCreated) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "plan_version":
			return s.Int(&g.PlanVersion)
		case "plan":
			g.Plan = &Plan{}
			return s.Object(g.Plan.scan(s))
		case "plan_ref":
			return s.Value(&g.PlanRef)
		case "finalize":
			return s.Text(&g.Finalize)
		case "final_pool":
			return s.Text(&g.FinalPool)
		case "final_pure":
			return s.Bool(&g.FinalPure)
		case "warnings":
			return s.Value(&g.Warnings)
		case "notices":
			return s.Value(&g.Notices)
		case "failure_policy":
			return s.Text((*string)(&g.FailurePolicy))
		case "fallback":
			return s.Text(&g.Fallback)
		case "tokens":
			return s.Int64(&g.Tokens)
		case "cost_usd":
			return s.Value(&g.CostUSD)
		}
		return false
	}
}
