package events

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// written is a payload that encodes itself: the same bytes as json.Marshal, but faster.
type written interface {
	write(w *plainjson.Writer)
}

// Verbatim is a payload already encoded by Marshal; it is passed on unchanged.
type Verbatim []byte

// MarshalJSON returns the bytes unchanged.
func (v Verbatim) MarshalJSON() ([]byte, error) { return v, nil }

// Marshal is like json.Marshal, without reflection for the most frequent types.
func Marshal(v any) ([]byte, error) {
	if done, ok := v.(Verbatim); ok {
		return done, nil
	}
	p, ok := v.(written)
	if !ok {
		return json.Marshal(v)
	}
	room := 512
	if work, is := v.(*Work); is {
		room += 128 + len(work.Brief) + 2*len(work.Goal) + 2*len(work.Context) // Goal and context occur twice.
	}
	w := plainjson.NewWriter(room)
	p.write(w)
	return w.Bytes()
}

// Header makes a header from alternating names and values.
func Header(pairs ...string) map[string][]string {
	h := make(map[string][]string, len(pairs)/2+2) // Leaves room for the expectations that a publish adds.
	for i := 0; i+1 < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1 : i+2 : i+2]
	}
	return h
}

func (d *Work) write(w *plainjson.Writer) {
	w.Open()
	w.MustText("kind", string(d.Kind))
	w.MustText("job", d.Job)
	w.MustText("subjob", d.SubJob)
	w.MustInt("run", int64(d.Run))
	w.MustInt("attempt", int64(d.Attempt))
	w.Int("resume_of", int64(d.ResumeOf))
	w.Key("spec")
	d.Spec.write(w)
	w.MustText("goal", d.Goal)
	w.Text("context", d.Context)
	w.Text("completion_criteria", d.CompletionCriteria)
	w.Some("inputs", len(d.Inputs) > 0, d.Inputs)
	w.Some("inputs_ref", d.InputsRef != nil, d.InputsRef)
	w.Some("attachments", len(d.Attachments) > 0, d.Attachments)
	writeResults(w, d.Results)
	w.Some("results_ref", d.ResultsRef != nil, d.ResultsRef)
	w.Texts("lessons", d.Lessons)
	w.Some("answers", len(d.Answers) > 0, d.Answers)
	w.Texts("select", d.Select)
	w.MustInt("life_cycle", int64(d.LifeCycle))
	w.Time("deadline", d.Deadline)
	w.Some("budget", d.Budget != Spent{}, d.Budget)
	w.Some("evaluator", d.Evaluator != nil, d.Evaluator)
	w.Text("model", d.Model)
	w.Text("parent_session", d.Parent)
	w.Texts("knowledge", d.Knowledge)
	w.Some("tools", d.Tools != nil, d.Tools)
	w.Text("session", d.Session)
	w.Text("thread", d.Thread)
	w.Text("user", d.User)
	w.Text("locale", d.Locale)
	w.JSON("history", d.History)
	w.Some("history_ref", d.HistoryRef != nil, d.HistoryRef)
	w.JSON("brief", d.Brief)
	w.Some("brief_ref", d.BriefRef != nil, d.BriefRef)
	if d.Request != nil {
		w.Key("request")
		d.Request.write(w)
	}
	w.Int("plan_version", int64(d.PlanVersion))
	w.Int("max_steps", int64(d.MaxSteps))
	w.Texts("finished", d.Finished)
	w.MustText("report_subject", d.ReportSubject)
	w.MustText("report_id", d.ReportID)
	w.MustText("idempotency_key", d.IdempotencyKey)
	w.MustText("claim_subject", d.ClaimSubject)
	w.Text("item_subject", d.ItemSubject)
	w.Some("former", len(d.Former) > 0, d.Former)
	w.MustText("lease", d.Lease.Std().String())
	w.MustText("cancel_subject", d.CancelSubject)
	w.Close()
}

func writeResults(w *plainjson.Writer, m map[string]Result) {
	if len(m) == 0 {
		return
	}
	w.Key("results")
	w.Open()
	for _, id := range slices.Sorted(maps.Keys(m)) {
		r := m[id]
		w.AnyKey(id)
		w.Open()
		w.JSON("output", r.Output)
		w.Some("output_ref", r.OutputRef != nil, r.OutputRef)
		w.Some("artifacts", len(r.Artifacts) > 0, r.Artifacts)
		w.Int("run", int64(r.Run))
		w.Flag("skipped", r.Skipped)
		w.Close()
	}
	w.Close()
}

func (j *SubJob) write(w *plainjson.Writer) {
	w.Open()
	w.MustText("id", j.ID)
	w.Text("name", j.Name)
	w.MustText("goal", j.Goal)
	w.Text("title", j.Title)
	w.Text("context", j.Context)
	w.Text("completion_criteria", j.CompletionCriteria)
	w.Texts("dependencies", j.Dependencies)
	w.Text("expert", j.Expert)
	w.Text("expert_name", j.ExpertName)
	w.Text("pool", j.Pool)
	w.Flag("pure", j.Pure)
	w.Text("type", j.Type)
	w.Text("tag", j.Tag)
	w.Texts("needs", j.Needs)
	w.Text("thinking", j.Thinking)
	w.Text("language", j.Language)
	w.JSON("output_schema", j.OutputSchema)
	w.Some("life_cycle", j.LifeCycle != nil, j.LifeCycle)
	w.Some("retries", j.Retries != nil, j.Retries)
	w.Some("timeout", j.Timeout != nil, j.Timeout)
	w.Text("when", j.When)
	w.Some("schedule", j.Schedule != nil, j.Schedule)
	w.Flag("handoff", j.Handoff)
	w.JSON("execution_res", j.ExecutionRes)
	w.Some("execution_ref", j.ExecutionRef != nil, j.ExecutionRef)
	w.Some("artifacts", len(j.Artifacts) > 0, j.Artifacts)
	w.Close()
}

func (r *SubJobReported) write(w *plainjson.Writer) {
	w.Open()
	w.MustText("outcome", string(r.Outcome))
	w.JSON("output", r.Output)
	w.Some("output_ref", r.OutputRef != nil, r.OutputRef)
	w.Some("artifacts", len(r.Artifacts) > 0, r.Artifacts)
	w.Some("warnings", len(r.Warnings) > 0, r.Warnings)
	w.Text("lesson", r.Lesson)
	w.Some("error", r.Error != nil, r.Error)
	w.Time("started", r.Started)
	w.Int("duration_ms", r.DurationMS)
	w.Text("owner", r.Owner)
	w.Some("selected", len(r.Selected) > 0, r.Selected)
	w.Text("log", r.Log)
	w.Some("log_ref", r.LogRef != nil, r.LogRef)
	w.Some("calls", len(r.Calls) > 0, r.Calls)
	w.Some("retry_after", r.RetryAfter != 0, r.RetryAfter)
	w.Int("tokens", r.Tokens)
	w.Some("cost_usd", r.CostUSD != 0, r.CostUSD)
	w.Text("job", r.Job)
	w.Text("subjob", r.SubJob)
	w.Int("run", int64(r.Run))
	w.Text("malformed", r.Malformed)
	w.Close()
}

func (r *JournalRecord) write(w *plainjson.Writer) {
	w.Open()
	w.MustText("type", string(r.Type))
	w.MustInt("run", int64(r.Run))
	w.Text("owner", r.Owner)
	if r.Lease != 0 {
		w.MustText("lease", r.Lease.Std().String())
	}
	w.Text("key", r.Key)
	w.Text("name", r.Name)
	w.Flag("safe", r.Safe)
	w.JSON("data", r.Data)
	w.Some("ref", r.Ref != nil, r.Ref)
	w.Text("reason", r.Reason)
	w.Uint("decides", r.Decides)
	w.Close()
}

func (a *JobAdvanced) write(w *plainjson.Writer) {
	w.Open()
	w.MustUint("from", a.From)
	w.MustUint("to", a.To)
	if a.Transitions == nil {
		w.Some("transitions", true, nil)
		w.Close()
		return
	}
	w.Key("transitions")
	w.List(len(a.Transitions), func(i int) {
		t := &a.Transitions[i]
		w.Open()
		w.MustText("subjob", t.SubJob)
		w.Int("run", int64(t.Run))
		w.MustText("transition", t.Transition)
		w.MustUint("cause", t.Cause)
		w.Close()
	})
	w.Close()
}

func (p *Plan) write(w *plainjson.Writer) {
	w.Open()
	w.Text("plan_id", p.PlanID)
	w.Text("title", p.Title)
	w.Text("locale", p.Locale)
	w.Text("thought", p.Thought)
	w.Some("has_enough_context", p.HasEnoughContext != nil, p.HasEnoughContext)
	w.Some("adequate", p.Adequate != nil, p.Adequate)
	w.Text("reason", p.Reason)
	w.Text("guidance_message", p.GuidanceMessage)
	w.Text("orig_query", p.OrigQuery)
	w.Text("created_at", p.CreatedAt)
	if p.SubJobs == nil {
		w.Some("subjobs", true, nil)
		w.Close()
		return
	}
	w.Key("subjobs")
	w.List(len(p.SubJobs), func(i int) { p.SubJobs[i].write(w) })
	w.Close()
}

func (g *GraphCreated) write(w *plainjson.Writer) {
	w.Open()
	w.Int("plan_version", int64(g.PlanVersion))
	if g.Plan != nil {
		w.Key("plan")
		g.Plan.write(w)
	}
	w.Some("plan_ref", g.PlanRef != nil, g.PlanRef)
	w.Text("finalize", g.Finalize)
	w.Text("final_pool", g.FinalPool)
	w.Flag("final_pure", g.FinalPure)
	w.Some("warnings", len(g.Warnings) > 0, g.Warnings)
	w.Some("notices", len(g.Notices) > 0, g.Notices)
	w.Text("failure_policy", string(g.FailurePolicy))
	w.Text("fallback", g.Fallback)
	w.Int("tokens", g.Tokens)
	w.Some("cost_usd", g.CostUSD != 0, g.CostUSD)
	w.Close()
}

func (r *Request) write(w *plainjson.Writer) {
	w.Open()
	w.Text("goal", r.Goal)
	w.Text("id", r.ID)
	w.Text("context", r.Context)
	w.Text("session", r.Session)
	w.Flag("new", r.New)
	w.Text("thread", r.Thread)
	w.Text("user", r.User)
	w.Text("locale", r.Locale)
	w.Text("profile", r.Profile)
	w.Text("expert", r.Expert)
	w.JSON("plan", r.Plan)
	w.Some("plan_ref", r.PlanRef != nil, r.PlanRef)
	w.Some("inputs", len(r.Inputs) > 0, r.Inputs)
	w.Some("inputs_ref", r.InputsRef != nil, r.InputsRef)
	w.Some("attachments", len(r.Attachments) > 0, r.Attachments)
	w.Some("labels", len(r.Labels) > 0, r.Labels)
	w.Int("priority", int64(r.Priority))
	w.Some("auto_accept", r.AutoAccept != nil, r.AutoAccept)
	w.Some("investigate", r.Investigate != nil, r.Investigate)
	w.Some("plan_cache", r.PlanCache != nil, r.PlanCache)
	w.Text("report_style", r.ReportStyle)
	w.Some("models", len(r.Models) > 0, r.Models)
	w.Texts("knowledge", r.Knowledge)
	w.Some("tools", !r.Tools.IsZero(), r.Tools)
	w.Some("evaluator", r.Evaluator != nil, r.Evaluator)
	w.Some("limits", r.Limits != Limits{}, r.Limits)
	w.Text("failure_policy", string(r.FailurePolicy))
	w.Some("schedule", r.Schedule != nil, r.Schedule)
	w.Text("finalize", r.Finalize)
	w.Text("timezone", r.Timezone)
	w.Some("unattended", r.Unattended != nil, r.Unattended)
	w.Text("unanswered", string(r.Unanswered))
	w.Flag("debug", r.Debug)
	w.Close()
}

func (r *JobRequested) write(w *plainjson.Writer) {
	w.Open()
	w.Key("request")
	r.Request.write(w)
	w.MustText("digest", r.Digest)
	w.Key("rules")
	r.Rules.write(w)
	w.JSON("history", r.History)
	w.Some("history_ref", r.HistoryRef != nil, r.HistoryRef)
	w.Close()
}

func (r *Rules) write(w *plainjson.Writer) {
	w.Open()
	w.MustInt("version", int64(r.Version))
	w.MustInt("max_steps", int64(r.MaxSteps))
	w.MustInt("max_plan_rounds", int64(r.MaxPlanRounds))
	w.MustInt("life_cycle", int64(r.LifeCycle))
	w.MustInt("retries", int64(r.Retries))
	w.MustInt("input_rounds", int64(r.InputRounds))
	w.MustInt("concurrency", int64(r.Concurrency))
	w.Text("concurrency_key", r.ConcurrencyKey)
	w.Int("key_concurrency", int64(r.KeyConcurrency))
	w.MustInt("job_input_rounds", int64(r.JobInputRounds))
	w.MustText("retry_delay", r.RetryDelay.Std().String())
	w.MustText("retry_delay_max", r.RetryDelayMax.Std().String())
	w.MustText("deadline", r.Deadline.Std().String())
	w.Some("answer", r.Answer > 0, r.Answer)
	w.MustInt("tokens", r.Tokens)
	w.Some("cost_usd", true, r.CostUSD)
	w.MustText("failure_policy", string(r.FailurePolicy))
	w.MustText("finalize", r.Finalize)
	w.MustText("lease", r.Lease.Std().String())
	w.MustText("lease_margin", r.LeaseMargin.Std().String())
	w.Text("timezone", r.Timezone)
	w.MustText("retention", r.Retention.Std().String())
	w.Close()
}
