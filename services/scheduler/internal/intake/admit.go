package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
)

// MaxRequest is the largest request that is read, in bytes.
const MaxRequest = 1 << 20

// maxRequested is the largest job.requested, in bytes: planning work contains the request and more.
const maxRequested = events.MaxMessage - 32<<10

// source is the CloudEvents source of job.requested.
const source = "jobgraph/scheduler"

// Log is the log to which jobs are admitted.
type Log interface {
	// Publish stores a message under an expectation.
	Publish(ctx context.Context, m events.Message, e bus.Expect) (uint64, error)
	// EventsOf yields the events of a job in order.
	EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
}

// Blobs stores what does not fit a message.
type Blobs interface {
	// Put stores bytes under their digest, once.
	Put(ctx context.Context, job string, data []byte) (events.Ref, error)
	// List lists the digests that a job has.
	List(ctx context.Context, job string) ([]string, error)
}

// Sessions enters jobs into their sessions.
type Sessions interface {
	// Open adds a job to its session, and reports whether it is new there; events.Faults say why it may not join. zone is the time
	// zone that applies in the session, the request's if it has one.
	Open(ctx context.Context, r *events.Request) (entered bool, zone string, err error)
	// History returns what was said in the session before a job that was just entered, as JSON; nil if nothing was.
	History(ctx context.Context, r *events.Request) (json.RawMessage, error)
	// Leave removes a job that was not admitted.
	Leave(ctx context.Context, r *events.Request) error
}

// Budgets tells what may be spent.
type Budgets interface {
	// Left returns what a new job of a session may spend at most, zero if there is no limit; events.Faults if a budget is used up.
	Left(ctx context.Context, session string) (events.Spent, error)
}

// Schedules stores recurring jobs.
type Schedules interface {
	// Make creates a schedule, and reports whether it is new; events.Faults say what is wrong with it.
	Make(ctx context.Context, id string, s schedule.Spec, trace string) (made bool, err error)
	// Exists reports whether there is a schedule.
	Exists(ctx context.Context, id string) (bool, error)
}

// Admitter checks requests and turns them into jobs.
type Admitter struct {
	names    events.Names
	log      Log
	blobs    Blobs
	defaults events.Rules
	// Sessions are updated before a job is admitted; nil without sessions.
	Sessions Sessions
	// Schedules takes requests that recur; nil if it is not available.
	Schedules Schedules
	// Budgets bounds what a job may spend by what is left for its session and day; nil for no bound.
	Budgets Budgets
	// Questions treats messages to sessions as answers; with nil each message becomes a job.
	Questions Questions
	// Zones knows the time zones of sessions and users; nil where none are kept.
	Zones Zones
	// Newest is the number of the newest decision rules that every live scheduler knows; nil leaves it to the defaults.
	Newest func(ctx context.Context) int
	// Trace begins a span under a traceparent, with attributes by name and value, and returns the traceparent of the span and a
	// function that ends it; nil without a collector.
	Trace func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))
}

// NewAdmitter makes an admitter; the defaults are the rules of a request that sets none.
func NewAdmitter(names events.Names, log Log, blobs Blobs, defaults events.Rules) *Admitter {
	return &Admitter{names: names, log: log, blobs: blobs, defaults: defaults}
}

// Admission is the result of admitting a request.
type Admission struct {
	// JobID is the job.
	JobID string `json:"job_id"`
	// ScheduleID is the schedule that was created instead of a job, for a request that recurs; JobID is the same.
	ScheduleID string `json:"schedule_id,omitempty"`
	// Seq is the sequence of job.requested in the log.
	Seq uint64 `json:"seq,omitempty"`
	// Duplicate is true when the same request was admitted before.
	Duplicate bool `json:"duplicate,omitempty"`
	// Answered is the request for input of JobID that this request has answered: no new job was created.
	Answered string `json:"answered,omitempty"`
	// Message is the id of a request that answered.
	Message string `json:"-"`
	// Unanswered is a question that is open in the session and that this request, a separate job, does not answer.
	Unanswered *Taken `json:"unanswered,omitempty"`
}

// Admit turns a request into a job. events.Faults list everything that is wrong with the request, permanently; any other error is
// the bus's, and the request may be tried again.
func (a *Admitter) Admit(ctx context.Context, body []byte, origin Origin) (Admission, error) {
	if len(body) <= MaxRequest {
		body, origin = unwrapped(body, origin)
	}
	if a.Trace == nil {
		return a.admit(ctx, body, origin)
	}
	trace, end := a.Trace(origin.Trace, "intake")
	origin.Trace = trace
	admission, err := a.admit(ctx, body, origin)
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	end(failure, "job", admission.JobID, "duplicate", strconv.FormatBool(admission.Duplicate))
	return admission, err
}

func (a *Admitter) admit(ctx context.Context, body []byte, origin Origin) (Admission, error) {
	if len(body) > MaxRequest {
		return Admission{}, events.Faults{{
			Code: events.CodeTooLarge, Message: fmt.Sprintf("the request has %d bytes, at most %d are read", len(body), MaxRequest),
			Hint: "store the plan or the inputs first and send plan_ref or inputs_ref; `jobgraph submit` does that",
		}}
	}
	r, faults := events.DecodeRequest(body)
	faults = append(faults, bases.Faults("knowledge", r.Knowledge)...)
	faults = append(faults, checkZone(&r)...)
	if r.Schedule != nil && (a.Schedules == nil || now(r.Schedule)) {
		faults = append(faults, unscheduled(&r)...)
		r.Schedule = nil
	}
	if r.ID == "" && (r.PlanRef != nil || r.InputsRef != nil || len(r.Attachments) > 0) {
		faults = append(faults, events.Fault{
			Code: events.CodeMissing, Field: "id", Message: "a request with references needs an id",
			Hint: "references are kept under the id of their job: choose one and store them under it",
		})
	}
	if len(faults) > 0 {
		return Admission{JobID: r.ID}, faults
	}
	if err := named(ctx, &r); err != nil {
		return Admission{JobID: r.ID}, err
	}
	digest, err := digestOf(&r)
	if err != nil {
		return Admission{JobID: r.ID}, events.Faults{{Code: events.CodeMalformed, Message: "the request cannot be written again", Cause: err.Error()}}
	}
	if r.ID == "" {
		r.ID = origin.of(asker.Of(ctx)).id(body)
	}
	if r.Schedule != nil {
		return a.schedule(ctx, r, origin)
	}
	if err := a.reserved(ctx, r.ID, origin); err != nil {
		return Admission{JobID: r.ID}, err
	}
	answered, done, err := a.answers(ctx, &r)
	if done || err != nil {
		return answered, err
	}
	admission, err := a.begin(ctx, &r, digest, origin)
	admission.Unanswered = answered.Unanswered
	return admission, err
}

// begin turns a request that was checked into a job, within the budgets.
func (a *Admitter) begin(ctx context.Context, r *events.Request, digest string, origin Origin) (Admission, error) {
	if err := a.checkRefs(ctx, r); err != nil {
		return Admission{JobID: r.ID}, err
	}
	requested := &events.JobRequested{Digest: digest, Rules: Resolve(a.rules(ctx), r), Request: *r}
	if admission, done, err := a.checkBudget(ctx, requested); done || err != nil {
		return admission, err
	}
	return a.enter(ctx, requested, origin)
}

// rules are the defaults, limited to the version that every live scheduler knows.
func (a *Admitter) rules(ctx context.Context) events.Rules {
	rules := a.defaults
	if a.Newest != nil {
		rules.Version = min(rules.Version, a.Newest(ctx))
	}
	return rules
}

// enter adds the job to its session and publishes it. The session comes first, so that every known job is found there. A refused
// job is removed from it. Payloads are stored as late as possible: those of a refused request would stay.
func (a *Admitter) enter(ctx context.Context, requested *events.JobRequested, origin Origin) (Admission, error) {
	entered, zone := false, requested.Request.Timezone
	if a.Sessions != nil {
		var err error
		if entered, zone, err = a.Sessions.Open(ctx, &requested.Request); err != nil {
			return Admission{JobID: requested.Request.ID}, err
		}
		if err := a.recall(ctx, requested); err != nil {
			return Admission{JobID: requested.Request.ID}, err
		}
	}
	var err error
	if requested.Rules.Timezone, err = a.zone(ctx, zone, requested.Request.User, origin.Zone); err != nil {
		return Admission{JobID: requested.Request.ID}, err
	}
	if err = a.refer(ctx, &requested.Request); err != nil {
		return Admission{JobID: requested.Request.ID}, err
	}
	admission, err := a.state(ctx, requested, origin.Trace)
	var faults events.Faults
	if entered && (admission.Duplicate || errors.As(err, &faults)) { // A repeat does not bring a deleted session back.
		if left := a.Sessions.Leave(ctx, &requested.Request); left != nil {
			return admission, left
		}
	}
	return admission, err
}

// recall adds what was said in the session before, by reference if it is long.
func (a *Admitter) recall(ctx context.Context, requested *events.JobRequested) error {
	if requested.Request.Session == "" {
		return nil
	}
	history, err := a.Sessions.History(ctx, &requested.Request)
	if err != nil {
		return fmt.Errorf("read the history of the session: %w", err)
	}
	if len(history) <= inlineHistory {
		requested.History = history
		return nil
	}
	ref, err := a.blobs.Put(ctx, requested.Request.ID, history)
	if err != nil {
		return fmt.Errorf("store the history of the session: %w", err)
	}
	requested.HistoryRef = &ref
	return nil
}

// inlineHistory is the largest history, in bytes, that is part of the job's first event and of all of its work.
const inlineHistory = 2 << 10

// schedule creates a schedule from a request that recurs, under the id that the job would have.
func (a *Admitter) schedule(ctx context.Context, r events.Request, origin Origin) (Admission, error) {
	admission := Admission{JobID: r.ID, ScheduleID: r.ID}
	spec := schedule.Spec{When: *r.Schedule, Request: r}
	spec.Request.ID, spec.Request.Schedule = "", nil
	if err := a.Zone(ctx, &spec, origin.Zone); err != nil {
		return admission, err
	}
	made, err := a.Schedules.Make(ctx, r.ID, spec, origin.Trace)
	admission.Duplicate = !made && err == nil
	return admission, err
}

// unscheduled refuses a schedule if schedules are not available.
func unscheduled(r *events.Request) events.Faults {
	if now(r.Schedule) {
		return nil
	}
	return events.Faults{{
		Code: events.CodeInvalid, Field: "schedule", Message: "no schedules are kept here", Hint: "leave the schedule out and submit the job when it is due",
	}}
}

// now reports whether a schedule only says that the job runs once.
func now(s *events.Schedule) bool {
	return *s == (events.Schedule{Pattern: s.Pattern}) && s.Pattern == "once"
}

// refer moves large parts of a request into blobs.
func (a *Admitter) refer(ctx context.Context, r *events.Request) error {
	if len(r.Plan) > events.MaxInline {
		ref, err := a.blobs.Put(ctx, r.ID, r.Plan)
		if err != nil {
			return fmt.Errorf("store plan: %w", err)
		}
		r.Plan, r.PlanRef = nil, &ref
	}
	inputs, err := json.Marshal(r.Inputs)
	if err != nil {
		return fmt.Errorf("encode inputs: %w", err)
	}
	if len(inputs) > events.MaxInline {
		ref, err := a.blobs.Put(ctx, r.ID, inputs)
		if err != nil {
			return fmt.Errorf("store inputs: %w", err)
		}
		r.Inputs, r.InputsRef = nil, &ref
	}
	return nil
}

// checkRefs finds references to payloads that were never stored.
func (a *Admitter) checkRefs(ctx context.Context, r *events.Request) error {
	refs := map[string]*events.Ref{"plan_ref": r.PlanRef, "inputs_ref": r.InputsRef}
	for i := range r.Attachments {
		refs[fmt.Sprintf("attachments.%d", i)] = &r.Attachments[i]
	}
	var known map[string]bool
	var faults events.Faults
	for _, field := range slices.Sorted(maps.Keys(refs)) {
		ref := refs[field]
		if ref == nil {
			continue
		}
		if known == nil {
			digests, err := a.blobs.List(ctx, r.ID)
			if err != nil {
				return fmt.Errorf("look for payloads: %w", err)
			}
			known = make(map[string]bool, len(digests))
			for _, d := range digests {
				known[d] = true
			}
		}
		if !known[ref.Digest] {
			faults = append(faults, events.Fault{
				Code: events.CodeMissingBlob, Field: field, RawRef: ref,
				Message: fmt.Sprintf("no payload %.80q is stored for job %s", ref.Digest, r.ID), Hint: "store it under <job>/<sha256> before the request",
			})
		}
	}
	return faults.OrNil()
}

// state publishes job.requested, once per id.
func (a *Admitter) state(ctx context.Context, requested *events.JobRequested, trace string) (Admission, error) {
	admission := Admission{JobID: requested.Request.ID}
	m, err := events.Encode(a.names, events.Event{
		Kind: events.KindJobRequested, ID: run.FactID(admission.JobID, events.KindJobRequested, ""), Job: admission.JobID,
		Source: source, Data: requested, Trace: trace,
	})
	if err != nil {
		return admission, err
	}
	if len(m.Body) > maxRequested {
		return admission, events.Faults{{
			Code: events.CodeTooLarge, Field: largest(&requested.Request), Message: fmt.Sprintf("the request has %d bytes without its plan and inputs, at most %d fit", len(m.Body), maxRequested),
			Hint: "hand long texts over as inputs or attachments",
		}}
	}
	admission.Seq, err = a.log.Publish(ctx, m, bus.ExpectNone())
	if errors.Is(err, bus.ErrConflict) {
		return a.repeated(ctx, admission, requested.Digest)
	}
	if err != nil {
		return admission, fmt.Errorf("state job.requested: %w", err)
	}
	return admission, nil
}

// largest returns the name of the longer field, goal or context, for a request that is too large without its plan and inputs.
func largest(r *events.Request) string {
	if len(r.Goal) > len(r.Context) {
		return "goal"
	}
	return "context"
}

// repeated distinguishes a repeat from another job under the same id.
func (a *Admitter) repeated(ctx context.Context, admission Admission, digest string) (Admission, error) {
	for e, err := range a.log.EventsOf(ctx, admission.JobID, 0) {
		if err != nil {
			return admission, fmt.Errorf("read the job of the same id: %w", err)
		}
		if e.Kind != events.KindJobRequested {
			continue
		}
		if first, ok := e.Data.(*events.JobRequested); ok && first.Digest == digest {
			admission.Seq, admission.Duplicate = e.Seq, true
			return admission, nil
		}
		break
	}
	return admission, events.Faults{{
		Code: events.CodeConflict, Field: "id", Message: "job " + admission.JobID + " exists with other content",
		Hint: "choose another id, leave it out, or `jobgraph get " + admission.JobID + "`",
	}}
}
