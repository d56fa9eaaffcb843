package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// source is the CloudEvents source of what people ask for through these verbs.
const source = "jobgraph/api"

// tries is how often a control event is tried while other control events of the same job arrive.
const tries = 5

func nonce() string { return rand.Text() }

// told is the answer to a control verb.
type told struct {
	JobID string `json:"job_id"`
	// Seq is where the event stands in the log.
	Seq uint64 `json:"seq"`
	// Accepted is true if the log has the event and it was legal at that moment.
	Accepted bool `json:"accepted"`
	// Status is the job's status once it has ended, for verbs that wait for that.
	Status events.Status `json:"status,omitempty"`
}

// tell tries a control event on a private copy of the state, and publishes it if no other control event has arrived since.
func (v *API) tell(ctx context.Context, id string, kind events.Kind, data any) (told, error) {
	e := events.Event{Kind: kind, ID: run.FactID(id, kind, rand.Text()), Job: id, Source: source, Data: data}
	m, err := events.Encode(v.bus.Names(), e)
	if err != nil {
		return told{}, err
	}
	m.Header[events.HeaderMsgID] = []string{e.ID}
	if err := joblog.Resolve(&e, v.bus.Blobs().Of(ctx, id)); err != nil {
		return told{}, err
	}
	for range tries {
		job, err := v.fold(ctx, id)
		if err != nil {
			return told{}, err
		}
		expect := job.ControlSeq
		e.Seq, e.Time = job.Seq+1, time.Now().UTC()
		if effect := job.Step(e); effect.Verdict == graph.Ignored {
			return told{}, &events.Fault{Code: events.CodeConflict, Message: fmt.Sprintf("%s of job %s: %s", kind, id, effect.Reason), Hint: "jobgraph get " + id}
		}
		seq, err := v.bus.Publish(ctx, m, bus.ExpectLast(expect))
		if !errors.Is(err, bus.ErrConflict) {
			return told{JobID: id, Seq: seq, Accepted: err == nil}, err
		}
	}
	return told{}, &events.Fault{Code: events.CodeConflict, Message: "others ask for changes of job " + id + " at the same time", Hint: "try again"}
}

// ending is a request to end a job or a part of it.
type ending struct {
	ref
	events.StopRequested
	// Wait false answers as soon as the request is in the log; otherwise the answer waits for the end, up to Timeout (5 s).
	Wait    *bool           `json:"wait"`
	Timeout events.Duration `json:"timeout"`
}

func (v *API) stop(ctx context.Context, body []byte) (any, error) {
	return v.end(ctx, body, func(s *events.StopRequested) (events.Kind, any) { return events.KindStopRequested, s })
}

func (v *API) fail(ctx context.Context, body []byte) (any, error) {
	return v.end(ctx, body, func(s *events.StopRequested) (events.Kind, any) {
		return events.KindFailRequested, (*events.FailRequested)(s)
	})
}

func (v *API) end(ctx context.Context, body []byte, as func(*events.StopRequested) (events.Kind, any)) (any, error) {
	var r ending
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	kind, data := as(&r.StopRequested)
	if v.leftAlone(ctx, r.ID) {
		return v.halt(ctx, &r, kind, data)
	}
	answer, err := v.tell(ctx, r.ID, kind, data)
	var fault *events.Fault
	if errors.As(err, &fault) && fault.Code == events.CodeNotFound && r.SubJob == "" && v.admitted(ctx, r.ID) {
		answer, err = v.tell(ctx, r.ID, kind, data)
	}
	if err != nil || r.Only || r.Wait != nil && !*r.Wait {
		return answer, err
	}
	if r.Timeout == 0 {
		r.Timeout = events.Duration(5 * time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout.Std())
	defer cancel()
	answer.Status, err = v.awaitEnd(ctx, r.ID, answer.Seq)
	if ctx.Err() != nil {
		return answer, nil // Accepted; for more, watch the job.
	}
	return answer, err
}

// awaitEnd reads the log after a sequence until the job has ended.
func (v *API) awaitEnd(ctx context.Context, id string, after uint64) (events.Status, error) {
	news, err := v.bus.Log().Lifecycle().Listen(ctx, id)
	if err != nil {
		return "", err
	}
	defer news.Stop()
	for {
		e, err := v.bus.Log().LastOf(ctx, id, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped)
		if err != nil {
			return "", err
		}
		if end, ok := e.Data.(*events.JobEnded); ok && e.Seq > after {
			return end.Status, nil
		}
		if _, err := news.Next(ctx); err != nil {
			return "", err
		}
	}
}

func (v *API) recover(ctx context.Context, body []byte) (any, error) {
	var r struct {
		ref
		events.RecoverRequested
	}
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	return v.tell(ctx, r.ID, events.KindRecoverRequested, &r.RecoverRequested)
}

func (v *API) retry(ctx context.Context, body []byte) (any, error) {
	var r struct {
		ref
		events.RetryRequested
	}
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	return v.tell(ctx, r.ID, events.KindRetryRequested, &r.RetryRequested)
}

func (v *API) rerun(ctx context.Context, body []byte) (any, error) {
	var r struct {
		ref
		events.RerunRequested
	}
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	return v.tell(ctx, r.ID, events.KindRerunRequested, &r.RerunRequested)
}

// edit replaces the unfinished part of the graph; a large plan goes by reference.
func (v *API) edit(ctx context.Context, body []byte) (any, error) {
	var r struct {
		ref
		events.PlanEdited
	}
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	data := r.PlanEdited
	data.Plan = schedule.Routed(data.Plan)
	text, err := json.Marshal(data.Plan)
	if err != nil {
		return nil, err
	}
	if len(text) <= events.MaxInline {
		return v.tell(ctx, r.ID, events.KindPlanEdited, &data)
	}
	blob, err := v.bus.Blobs().Put(ctx, r.ID, text)
	if err != nil {
		return nil, err
	}
	data.PlanRef, data.Plan = &blob, nil
	return v.tell(ctx, r.ID, events.KindPlanEdited, &data)
}
