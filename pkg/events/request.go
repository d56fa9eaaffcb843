package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/foreign"
)

// Request asks for a job. Either Goal or Plan is required.
type Request struct {
	Goal          string                     `json:"goal,omitempty"`           // Goal says what to do.
	ID            string                     `json:"id,omitempty"`             // ID is the job's id, [A-Za-z0-9_-]{1,64}, not dashes alone; intake makes one if it is empty. Requests with the same id are the same job.
	Context       string                     `json:"context,omitempty"`        // Context is information for the experts besides the goal.
	Session       string                     `json:"session,omitempty"`        // Session groups jobs into a conversation.
	New           bool                       `json:"new,omitempty"`            // New makes a job of a request that would else answer a question that is open in its session.
	Thread        string                     `json:"thread,omitempty"`         // Thread is one conversation inside a session.
	User          string                     `json:"user,omitempty"`           // User is the person for whom the job runs.
	Locale        string                     `json:"locale,omitempty"`         // Locale is the language of goals and answers, BCP 47.
	Profile       string                     `json:"profile,omitempty"`        // Profile names the planning profile.
	Expert        string                     `json:"expert,omitempty"`         // Expert skips planning: the whole goal is one SubJob of that expert.
	Plan          json.RawMessage            `json:"plan,omitempty"`           // Plan is a ready plan in any dialect.
	PlanRef       *Ref                       `json:"plan_ref,omitempty"`       // PlanRef refers to a plan that does not fit into a message.
	Inputs        map[string]json.RawMessage `json:"inputs,omitempty"`         // Inputs are named values for every SubJob.
	InputsRef     *Ref                       `json:"inputs_ref,omitempty"`     // InputsRef refers to the inputs, one JSON object, if they are stored as a blob.
	Attachments   []Ref                      `json:"attachments,omitempty"`    // Attachments are files for every SubJob.
	Labels        map[string]string          `json:"labels,omitempty"`         // Labels are for selection: at most 64 pairs of key and value, each of at most 256 bytes.
	Priority      int                        `json:"priority,omitempty"`       // Priority orders work of different jobs, higher first, 0 by default.
	AutoAccept    *bool                      `json:"auto_accept,omitempty"`    // AutoAccept runs the plan without a person's review; true by default.
	Investigate   *bool                      `json:"investigate,omitempty"`    // Investigate asks for background investigation before planning.
	PlanCache     *bool                      `json:"plan_cache,omitempty"`     // PlanCache allows the plan of an earlier identical request; the profile decides if nil.
	ReportStyle   string                     `json:"report_style,omitempty"`   // ReportStyle is the style of the final report.
	Models        map[string]string          `json:"models,omitempty"`         // Models maps a role ("planner", "triage", "report", "expert") to a configured model.
	Knowledge     []string                   `json:"knowledge,omitempty"`      // Knowledge names bases of knowledge for the job: session, user, or global ones.
	Evaluator     *bool                      `json:"evaluator,omitempty"`      // Evaluator asks for an evaluation of each result.
	Limits        Limits                     `json:"limits,omitzero"`          // Limits bounds the job.
	FailurePolicy FailurePolicy              `json:"failure_policy,omitempty"` // FailurePolicy is FailFast if empty.
	Schedule      *Schedule                  `json:"schedule,omitempty"`       // Schedule makes the job recur.
	Finalize      string                     `json:"finalize,omitempty"`       // Finalize is "tails", "none", "summary", "report" or "expert:<id>"; the profile decides if empty.
}

// Limits bounds a job. A nil field gets the default, which intake writes into job.requested.
type Limits struct {
	MaxSteps       *int      `json:"max_steps,omitempty"`       // MaxSteps is the most SubJobs that the request's own plan may have; a planner is advised to keep within it.
	MaxPlanRounds  *int      `json:"max_plan_rounds,omitempty"` // MaxPlanRounds is how often the whole job may be planned.
	LifeCycle      *int      `json:"life_cycle,omitempty"`      // LifeCycle is how often a SubJob may be split; 0 means never.
	Retries        *int      `json:"retries,omitempty"`         // Retries is how often an EXECUTION_ERROR is retried; 0 means never.
	RetryDelay     *Duration `json:"retry_delay,omitempty"`     // RetryDelay is the wait before the first retry. It doubles each time, up to the larger of itself and a minute.
	InputRounds    *int      `json:"input_rounds,omitempty"`    // InputRounds is how often one SubJob may reject its predecessors' results and have them redone.
	Deadline       *Duration `json:"deadline,omitempty"`        // Deadline is how long the job may take from its admission.
	Tokens         *int64    `json:"tokens,omitempty"`          // Tokens is the most model tokens the job may spend.
	CostUSD        *float64  `json:"cost_usd,omitempty"`        // CostUSD is the most money the job may spend, in US dollars.
	Concurrency    *int      `json:"concurrency,omitempty"`     // Concurrency is the most SubJobs of the job that run at once; 0 means no limit.
	ConcurrencyKey string    `json:"concurrency_key,omitempty"` // ConcurrencyKey groups jobs: of all SubJobs of all jobs with the same key, at most KeyConcurrency run at once.
	KeyConcurrency *int      `json:"key_concurrency,omitempty"` // KeyConcurrency is the limit of ConcurrencyKey.
}

// aliases are the names that predecessor systems use for request fields.
var aliases = map[string]string{
	"query": "goal", "conversation_id": "session", "session_id": "session", "thread_id": "thread", "user_id": "user",
	"target_agent_name": "expert", "assigned_expert_name": "expert",
	"max_step_num": "limits.max_steps", "max_plan_iterations": "limits.max_plan_rounds",
	"auto_accepted_plan": "auto_accept", "enable_background_investigation": "investigate",
}

// DecodeRequest decodes a job request. It accepts alternative field names of predecessor systems and is strict otherwise:
// it returns all faults, not just the first.
func DecodeRequest(body []byte) (Request, Faults) {
	var r Request
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return r, Faults{malformedRequest(body, err)}
	}
	faults := r.assign(fields)
	faulty := slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == CodeInvalid && strings.Contains("goal query plan", f.Field) })
	return r, append(faults, slices.DeleteFunc(r.Validate(), func(f Fault) bool { return faulty && f.Code == CodeMissing })...)
}

func malformedRequest(body []byte, err error) Fault {
	f := Fault{Code: CodeMalformed, Message: "a job request is one JSON object", Hint: `send {"goal":"…"}`}
	if err != nil {
		f.Cause = err.Error()
	}
	if len(bytes.TrimSpace(body)) == 0 {
		f.Message = "the job request is empty"
	}
	return f
}

func (r *Request) assign(fields map[string]json.RawMessage) Faults {
	var faults Faults
	known := r.fields()
	for _, given := range slices.Sorted(maps.Keys(fields)) {
		name := given
		if to, ok := aliases[given]; ok {
			if _, both := fields[to]; both {
				faults = append(faults, Fault{Code: CodeConflict, Field: given, Message: "given together with " + to, Hint: "keep one of the two"})
				continue
			}
			name = to
		}
		target, ok := known[name]
		if hint, idle, foreign := foreign.Setting(name, fields[given]); foreign && !ok {
			if !idle {
				faults = append(faults, Fault{Code: CodeNotPermitted, Field: given, Message: "cannot be set with a request", Hint: hint})
			}
			continue
		}
		if !ok {
			faults = append(faults, Fault{Code: CodeUnknownField, Field: given, Message: fmt.Sprintf("unknown field %.80q", given), Hint: "known fields: " + topLevel(known)})
			continue
		}
		if err := strict(fields[given], target); err != nil {
			faults = append(faults, Fault{Code: CodeInvalid, Field: given, Message: "wrong type or value", Cause: err.Error()})
		}
	}
	return faults
}

// topLevel lists the fields of the request itself; aliases may refer to nested ones.
func topLevel(known map[string]any) string {
	return strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return strings.Contains(name, ".") }), ", ")
}

func (r *Request) fields() map[string]any {
	return map[string]any{
		"goal": &r.Goal, "id": &r.ID, "context": &r.Context, "session": &r.Session, "new": &r.New, "thread": &r.Thread, "user": &r.User,
		"locale": &r.Locale, "profile": &r.Profile, "expert": &r.Expert, "plan": &r.Plan, "plan_ref": &r.PlanRef,
		"inputs": &r.Inputs, "inputs_ref": &r.InputsRef, "attachments": &r.Attachments, "labels": &r.Labels,
		"priority": &r.Priority, "auto_accept": &r.AutoAccept, "investigate": &r.Investigate, "plan_cache": &r.PlanCache,
		"report_style": &r.ReportStyle, "models": &r.Models, "evaluator": &r.Evaluator, "limits": &r.Limits,
		"limits.max_steps": &r.Limits.MaxSteps, "limits.max_plan_rounds": &r.Limits.MaxPlanRounds,
		"failure_policy": &r.FailurePolicy, "knowledge": &r.Knowledge, "schedule": &r.Schedule, "finalize": &r.Finalize,
	}
}

func strict(data []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(target)
}

// Validate reports all faults of the values; whether experts exist is up to the planner.
func (r *Request) Validate() Faults {
	var faults Faults
	add := func(code Code, field, message, hint string) {
		faults = append(faults, Fault{Code: code, Field: field, Message: message, Hint: hint})
	}
	hasPlan := len(r.Plan) > 0 && string(r.Plan) != "null" || r.PlanRef != nil
	if strings.TrimSpace(r.Goal) == "" && !hasPlan {
		add(CodeMissing, "goal", "neither a goal nor a plan", `say what is wanted: {"goal":"…"}`)
	}
	if r.ID != "" && !ValidNewID(r.ID) {
		add(CodeInvalid, "id", fmt.Sprintf("id %.80q does not fit", r.ID), "use 1 to 64 of A-Z a-z 0-9 _ -, not dashes alone, or leave it out")
	}
	if len(r.Labels) > MaxLabels {
		add(CodeTooLarge, "labels", fmt.Sprintf("%d labels, at most %d are taken", len(r.Labels), MaxLabels), "use fewer labels")
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		if most := max(len(key), len(r.Labels[key])); most > MaxName {
			add(CodeTooLarge, fmt.Sprintf("labels.%.40s", key), fmt.Sprintf("the name or value has %d bytes, at most %d are taken", most, MaxName),
				"labels are for finding jobs: hand data over as inputs")
		}
	}
	if r.FailurePolicy != "" && !slices.Contains([]FailurePolicy{FailFast, Continue, Replan}, r.FailurePolicy) {
		add(CodeInvalid, "failure_policy", fmt.Sprintf("unknown policy %.40q", r.FailurePolicy), "use fail_fast, continue or replan")
	}
	for _, role := range slices.Sorted(maps.Keys(r.Models)) {
		if !slices.Contains([]string{"planner", "triage", "report", "expert"}, role) {
			add(CodeInvalid, "models."+role, fmt.Sprintf("unknown role %.40q", role), "the roles are planner, triage, report and expert")
		}
	}
	mode, expert, _ := strings.Cut(r.Finalize, ":")
	if !slices.Contains([]string{"", "tails", "none", "summary", "report", "expert"}, mode) || (mode == "expert") != (expert != "") {
		add(CodeInvalid, "finalize", fmt.Sprintf("unknown mode %.80q", r.Finalize), "use tails, none, summary, report or expert:<id>")
	}
	return append(faults, r.Limits.validate()...)
}

func (l *Limits) validate() Faults {
	var faults Faults
	check := func(field string, value *int, least int) {
		if value != nil && (*value < least || *value > 1<<20) {
			faults = append(faults, Fault{Code: CodeInvalid, Field: "limits." + field, Message: fmt.Sprintf("%d is outside %d to %d", *value, least, 1<<20)})
		}
	}
	check("max_steps", l.MaxSteps, 1)
	check("max_plan_rounds", l.MaxPlanRounds, 1)
	check("life_cycle", l.LifeCycle, 0)
	check("retries", l.Retries, 0)
	check("input_rounds", l.InputRounds, 0)
	check("concurrency", l.Concurrency, 0)
	check("key_concurrency", l.KeyConcurrency, 1)
	if len(l.ConcurrencyKey) > MaxName || (l.ConcurrencyKey == "") != (l.KeyConcurrency == nil) {
		faults = append(faults, Fault{Code: CodeInvalid, Field: "limits.concurrency_key", Message: "want a key of at most 256 bytes together with key_concurrency"})
	}
	if l.Tokens != nil && *l.Tokens < 1 {
		faults = append(faults, Fault{Code: CodeInvalid, Field: "limits.tokens", Message: "must be at least 1"})
	}
	if l.CostUSD != nil && *l.CostUSD <= 0 {
		faults = append(faults, Fault{Code: CodeInvalid, Field: "limits.cost_usd", Message: "must be above 0"})
	}
	return faults
}
