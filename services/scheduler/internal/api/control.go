package api

import (
	"cmp"
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
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// source is the CloudEvents source of the events that people cause through these verbs.
const source = "jobgraph/api"

// tries is how often a control event is tried while other control events of the same job arrive.
const tries = 5

func nonce() string { return rand.Text() }

// tell tries a control event on a private copy of the state, and publishes it if no other control event has arrived since.
func (v *API) tell(ctx context.Context, id string, kind events.Kind, data any) (verb.Told, error) {
	e := events.Event{Kind: kind, ID: run.FactID(id, kind, rand.Text()), Job: id, Source: source, Data: data}
	m, err := events.Encode(v.bus.Names(), e)
	if err != nil {
		return verb.Told{}, err
	}
	m.Header[events.HeaderMsgID] = []string{e.ID}
	if err := joblog.Resolve(&e, v.bus.Blobs().Of(ctx, id)); err != nil {
		return verb.Told{}, err
	}
	for range tries {
		job, err := v.fold(ctx, id)
		if err != nil {
			return verb.Told{}, err
		}
		expect := job.ControlSeq
		e.Seq, e.Time = job.Seq+1, time.Now().UTC()
		if effect := job.Step(e); effect.Verdict == graph.Ignored {
			return verb.Told{}, &events.Fault{Code: events.CodeConflict, Message: fmt.Sprintf("%s of job %s: %s", kind, id, effect.Reason), Hint: "jobgraph get " + id}
		}
		seq, err := v.bus.Publish(ctx, m, bus.ExpectLast(expect))
		if !errors.Is(err, bus.ErrConflict) {
			return verb.Told{JobID: id, Seq: seq, Accepted: err == nil}, err
		}
	}
	return verb.Told{}, &events.Fault{Code: events.CodeConflict, Message: "others ask for changes of job " + id + " at the same time", Hint: "try again"}
}

func (v *API) stop(ctx context.Context, body []byte) (any, error) {
	return v.end(ctx, "stop", body, func(s *events.StopRequested) (events.Kind, any) { return events.KindStopRequested, s })
}

func (v *API) fail(ctx context.Context, body []byte) (any, error) {
	return v.end(ctx, "fail", body, func(s *events.StopRequested) (events.Kind, any) {
		return events.KindFailRequested, (*events.FailRequested)(s)
	})
}

func (v *API) end(ctx context.Context, name string, body []byte, as func(*events.StopRequested) (events.Kind, any)) (any, error) {
	var r verb.Ending
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if err := v.mayEnd(ctx, name, &r); err != nil {
		return nil, err
	}
	kind, data := as(&r.StopRequested)
	if v.leftAlone(ctx, r.ID) {
		return v.halt(ctx, &r, kind, data)
	}
	answer, err := v.tell(ctx, r.ID, kind, data)
	var fault *events.Fault
	if errors.As(err, &fault) && fault.Code == events.CodeNotFound && r.SubJob == "" {
		there, busy := v.admitted(ctx, r.ID, nil)
		if err = cmp.Or(busy, err); there {
			answer, err = v.tell(ctx, r.ID, kind, data)
		}
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
	var r verb.Recovery
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	return v.tell(ctx, r.ID, events.KindRecoverRequested, &r.RecoverRequested)
}

func (v *API) retry(ctx context.Context, body []byte) (any, error) {
	var r verb.Retry
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	return v.tell(ctx, r.ID, events.KindRetryRequested, &r.RetryRequested)
}

func (v *API) rerun(ctx context.Context, body []byte) (any, error) {
	var r verb.Rerun
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	return v.tell(ctx, r.ID, events.KindRerunRequested, &r.RerunRequested)
}

// edit replaces the unfinished part of the graph; a large plan goes by reference.
func (v *API) edit(ctx context.Context, body []byte) (any, error) {
	var r verb.PlanEdit
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
