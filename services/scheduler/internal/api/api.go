package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/budget"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/session"
)

// States returns the saved states of jobs.
type States interface {
	// Load returns the saved state if it can be trusted.
	Load(ctx context.Context, job string) (loop.Saved, error)
}

// API answers the verbs of one prefix. It is safe for concurrent use.
type API struct {
	bus      *bus.Bus
	states   States
	admitter *intake.Admitter
	gate     *intake.Gate
	logger   *slog.Logger
	// searching has a place for each search of the queue.
	searching chan struct{}
	// allInputs makes the list of all open requests for input.
	allInputs shared
	// Sessions is the store for the verbs about sessions.
	Sessions *session.Store
	// Schedules is the keeper for the verbs about schedules.
	Schedules *recurring.Keeper
	// Ledger has the budgets of sessions and days; nil without one. JobBudget is what a job may spend if its request has no limits.
	Ledger    *budget.Ledger
	JobBudget events.Spent
}

// New makes an API. The exported fields are set by the caller.
func New(b *bus.Bus, states States, admitter *intake.Admitter, gate *intake.Gate, logger *slog.Logger) *API {
	return &API{bus: b, states: states, admitter: admitter, gate: gate, logger: logger, searching: make(chan struct{}, searches)}
}

// Endpoints maps each verb to its handler.
func (v *API) Endpoints() map[string]bus.Endpoint {
	verbs := map[string]handler{
		"submit": v.submit, "get": v.get, "list": v.list, "why": v.why, "graph": v.graph, "inputs": v.inputs,
		"stop": v.stop, "fail": v.fail, "recover": v.recover, "retry": v.retry, "rerun": v.rerun, "edit": v.edit,
		"answer": v.answer, "delete": v.remove, "dlq.retry": v.retryLetter,
	}
	maps.Copy(verbs, sessions{v}.verbs())
	maps.Copy(verbs, schedules{v}.verbs())
	maps.Copy(verbs, users{v}.verbs())
	maps.Copy(verbs, supply{v}.verbs())
	endpoints := make(map[string]bus.Endpoint, len(verbs))
	for verb, answer := range verbs {
		asked := v.signed(verb, answer)
		endpoints[verb] = func(ctx context.Context, request []byte) ([]byte, *events.Fault) {
			return v.reply(asked(ctx, request))
		}
	}
	return endpoints
}

// reply writes an answer, or an error in the one form of faults; several faults are a rejection after the first.
func (v *API) reply(answer any, err error) ([]byte, *events.Fault) {
	admission, _ := answer.(intake.Admission)
	body, fault, err := bus.Answer(admission.JobID, answer, err)
	switch {
	case err == nil:
		return body, fault
	case errors.Is(err, bus.ErrFull):
		return nil, &events.Fault{Code: events.CodeUnavailable, Message: "the log has no room", Cause: err.Error(), Hint: "free space or raise the limit of the stream, then try again"}
	}
	v.logger.Warn("request failed", "error", err)
	return nil, &events.Fault{Code: events.CodeUnavailable, Message: "the bus did not do what was asked", Cause: err.Error(), Hint: "try again; the same request is done once"}
}

// decode reads a request strictly. A bare id stands for {"id":…}.
func decode(body []byte, into any) error {
	if text := bytes.TrimSpace(body); events.ValidToken(string(text)) {
		body = []byte(`{"id":"` + string(text) + `"}`)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.Decode(&struct{}{}) != io.EOF {
		err = errors.New("there is more after its end")
	}
	if err != nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "the request cannot be read", Cause: plainjson.Misfit(err), Hint: wanted(into)}
	}
	return nil
}

// wanted says what to send in place of a request that cannot be read, with the id where the verb takes one.
func wanted(into any) string {
	t := reflect.TypeOf(into).Elem()
	if t.Kind() == reflect.Struct {
		if _, takesID := t.FieldByName("ID"); !takesID {
			return "send one JSON object; docs/nats.md has an example of each request"
		}
	}
	return `send one JSON object, {"id":"…"} at least`
}

func (v *API) submit(ctx context.Context, body []byte) (any, error) {
	if refused := v.gate.Refusal(ctx, v.bus.Names().Request()); refused != nil {
		return nil, refused
	}
	return v.admitter.Admit(ctx, body, intake.Origin{Nonce: nonce(), Trace: bus.TraceOf(ctx), Zone: bus.ZoneOf(ctx)})
}

func (v *API) get(ctx context.Context, body []byte) (any, error) {
	var r verb.Ref
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	job, err := v.fold(ctx, r.ID)
	if err != nil {
		return v.quarantined(ctx, r.ID, err)
	}
	return job, nil
}

// quarantined shows what is saved of a job that cannot be folded.
func (v *API) quarantined(ctx context.Context, id string, cause error) (any, error) {
	if !events.ValidToken(id) {
		return nil, cause
	}
	value, _, err := v.bus.State().GetLeader(ctx, id)
	if err != nil {
		return nil, cause
	}
	return json.RawMessage(value), nil
}

func (v *API) why(ctx context.Context, body []byte) (any, error) {
	var r verb.SubJobRef
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	job, err := v.fold(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	blockers := job.Why(r.SubJob)
	if r.SubJob != "" && len(blockers) == 0 {
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "subjob", Message: fmt.Sprintf("job %s has no SubJob %.80q", r.ID, r.SubJob), Hint: "jobgraph describe " + r.ID}
	}
	if f := v.gate.Ask(ctx); f != nil && f.Field == "disk" && !job.Status.Terminal() { // A bus that stores nothing explains all other reasons, so it comes first.
		blockers = append([]graph.Blocker{{Code: f.Field, Message: f.Message + ": " + f.Cause, Unblock: f.Hint}}, blockers...)
	}
	return map[string]any{"job_id": r.ID, "status": job.Status, "blockers": blockers}, nil
}

// leftAlone reports whether the scheduler has quarantined a job, so that its end will not be folded.
func (v *API) leftAlone(ctx context.Context, id string) bool {
	if !events.ValidToken(id) {
		return false
	}
	value, _, err := v.bus.State().GetLeader(ctx, id)
	var kept struct {
		Quarantined *events.Fault `json:"quarantined"`
	}
	return err == nil && json.Unmarshal(value, &kept) == nil && kept.Quarantined != nil
}

// remove deletes everything of a job that has ended or is quarantined.
func (v *API) remove(ctx context.Context, body []byte) (any, error) {
	var r verb.Ref
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	job, err := v.foldLog(ctx, r.ID)
	if err != nil && !v.leftAlone(ctx, r.ID) {
		return v.removeRest(ctx, r.ID, err)
	}
	if err == nil && !job.Status.Terminal() {
		return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: "job " + r.ID + " is " + string(job.Status), Hint: "jobgraph stop " + r.ID + ", then delete it"}
	}
	if err := v.bus.Retention().PurgeJob(ctx, r.ID); err != nil {
		return nil, err
	}
	return verb.Deleted{JobID: r.ID, Deleted: true}, nil
}

// removeRest deletes the state that an interrupted deletion has left after the log was gone, the journals that an interrupted import has
// left, or payloads without a job; cause says why there is no job.
func (v *API) removeRest(ctx context.Context, id string, cause error) (any, error) {
	var fault *events.Fault
	if !errors.As(cause, &fault) || fault.Code != events.CodeNotFound {
		return nil, cause
	}
	_, _, absent := v.bus.State().GetLeader(ctx, id)
	switch {
	case absent == nil:
		if err := v.bus.Retention().PurgeRest(ctx, id); err != nil {
			return nil, err
		}
	case !errors.Is(absent, bus.ErrNotFound):
		return nil, absent
	}
	err := v.bus.Retention().PurgeUnbegun(ctx, id)
	switch {
	case errors.Is(err, bus.ErrNotFound) && absent != nil:
		return nil, cause
	case err != nil && !errors.Is(err, bus.ErrNotFound):
		return nil, err
	}
	return verb.Deleted{JobID: id, Deleted: true}, nil
}
