package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

// Request asks for a job. Either Goal or Plan is required.
type Request struct {
	Goal          string                     `json:"goal,omitempty"`           // Goal says what to do.
	ID            string                     `json:"id,omitempty"`             // ID is the job's id, [A-Za-z0-9_-]{1,64}, not dashes alone; intake makes one if it is empty. Requests with the same id are the same job.
	Context       string                     `json:"context,omitempty"`        // Context is information for the experts besides the goal.
	Session       string                     `json:"session,omitempty"`        // Session groups jobs into a conversation.
	New           bool                       `json:"new,omitempty"`            // New makes a new job of a request that would otherwise answer a question that is open in its session.
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
	AutoAccept    *bool                      `json:"auto_accept,omitempty"`    // AutoAccept runs every plan without a person's review, or none; if nil, the plan's has_enough_context decides.
	Investigate   *bool                      `json:"investigate,omitempty"`    // Investigate asks for background investigation before planning.
	PlanCache     *bool                      `json:"plan_cache,omitempty"`     // PlanCache allows the plan of an earlier identical request; the profile decides if nil.
	ReportStyle   string                     `json:"report_style,omitempty"`   // ReportStyle is the style of the final report.
	Models        map[string]string          `json:"models,omitempty"`         // Models maps a role ("planner", "triage", "report", "expert") to a configured model.
	Knowledge     []string                   `json:"knowledge,omitempty"`      // Knowledge names bases of knowledge for the job: session, user, or global ones.
	Tools         toolset.Change             `json:"tools,omitzero"`           // Tools changes the tools of the agents: no web, fewer searches, MCP servers that the operator lends.
	Evaluator     *bool                      `json:"evaluator,omitempty"`      // Evaluator asks for an evaluation of each result.
	Limits        Limits                     `json:"limits,omitzero"`          // Limits bounds the job.
	FailurePolicy FailurePolicy              `json:"failure_policy,omitempty"` // FailurePolicy is FailFast if empty.
	Schedule      *Schedule                  `json:"schedule,omitempty"`       // Schedule makes the job recur.
	Finalize      string                     `json:"finalize,omitempty"`       // Finalize is "tails", "none", "summary", "report" or "expert:<id>"; the profile decides if empty.
	Timezone      string                     `json:"timezone,omitempty"`       // Timezone is the person's time zone, an IANA name; empty takes that of the session, the user or the caller (Rules.Timezone).
	Unattended    *bool                      `json:"unattended,omitempty"`     // Unattended says whether no person can answer: then planning asks none and follows Unanswered. If nil, a person can, but not in a run of a schedule.
	Unanswered    Unanswered                 `json:"unanswered,omitempty"`     // Unanswered is what planning does without the answer of a person; the profile decides if empty.
	Debug         bool                       `json:"debug,omitempty"`          // Debug keeps the prompts of planning with the job, and shows them and the raw answers as live items.
}

// Unanswered is what planning does when something is missing and no person says it.
type Unanswered string

// The policies for a missing answer.
const (
	Assume         Unanswered = "assume" // Plan with stated assumptions.
	FailUnanswered Unanswered = "fail"   // Fail with CodeMissingContext.
)

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
	Concurrency    *int      `json:"concurrency,omitempty"`     // Concurrency is how many SubJobs may run at once; 0 means no limit.
	ConcurrencyKey string    `json:"concurrency_key,omitempty"` // ConcurrencyKey groups jobs: of all SubJobs of all jobs with the same key, at most KeyConcurrency run at once.
	KeyConcurrency *int      `json:"key_concurrency,omitempty"` // KeyConcurrency is the limit of ConcurrencyKey.
	// Answer is how long a question of the planner stays open, and one of an expert that sets no time itself; 0 means for ever. Nil leaves
	// it to the profile, and questions of experts in runs of schedules and unattended jobs to UnattendedAnswer.
	Answer *Duration `json:"answer,omitempty"`
}

// UnattendedAnswer is how long an expert's question that sets no time itself stays open, in runs of schedules and in unattended jobs, if
// the request does not say.
const UnattendedAnswer = Duration(24 * time.Hour)

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
	if r.Unanswered != "" && r.Unanswered != Assume && r.Unanswered != FailUnanswered {
		add(CodeInvalid, "unanswered", fmt.Sprintf("unknown policy %.40q", r.Unanswered), "use assume or fail")
	}
	if r.Unattended != nil && *r.Unattended && r.AutoAccept != nil && !*r.AutoAccept {
		add(CodeInvalid, "unattended", "given together with auto_accept false, which asks a person", "keep one of the two")
	}
	mode, expert, _ := strings.Cut(r.Finalize, ":")
	if !slices.Contains([]string{"", "tails", "none", "summary", "report", "expert"}, mode) || (mode == "expert") != (expert != "") {
		add(CodeInvalid, "finalize", fmt.Sprintf("unknown mode %.80q", r.Finalize), "use tails, none, summary, report or expert:<id>")
	}
	wrong := r.Tools.Faults()
	for _, field := range slices.Sorted(maps.Keys(wrong)) {
		add(CodeInvalid, "tools."+field, wrong[field], "")
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
