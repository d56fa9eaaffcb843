package route

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/render"
)

// maxShown is how much of a text an answer contains, in bytes; the rest has a separate address.
const maxShown = 16 << 10

// subjobOf sends everything known about a SubJob at an event.
func subjobOf(c *call) error {
	var in verb.SubJobQuery
	if err := c.into(&in); err != nil {
		return err
	}
	ctx, cl := c.r.Context(), c.gateway.Client
	log, err := cl.Logs().Fold(ctx, in.ID, in.At)
	if err != nil {
		return err
	}
	s := log.SubJob(in.SubJob)
	if s == nil {
		return &events.Fault{Code: events.CodeNotFound, Field: "subjob", Message: "job " + in.ID + " has no SubJob " + clip(in.SubJob), Hint: "GET /api/v1/jobs/" + in.ID + "/graph lists them"}
	}
	out := verb.SubJobOf{JobID: in.ID, Ref: s.Ref, Lessons: s.Lessons, Runs: runsOf(log, in.SubJob), Inputs: []verb.InputOf{}, Actions: c.actions(log, in.SubJob)}
	for _, a := range s.Artifacts {
		out.Artifacts = append(out.Artifacts, verb.FileLine{Ref: a, Href: c.at("artifacts", in.SubJob, a.Name), Preview: render.Kind(a.Name, a.MediaType)})
	}
	if out.Output = s.Output; s.Ref != nil && s.Output == nil {
		if out.Output, err = c.beginning(ctx, *s.Ref); err != nil {
			return err
		}
	}
	if err := c.told(ctx, log, &in, &out); err != nil {
		return err
	}
	b, err := log.Brief(in.SubJob)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		into *json.RawMessage
		from any
	}{{&out.State, s.State}, {&out.Spec, s.Spec}, {&out.Why, log.Job.Why(in.SubJob)}, {&out.Brief, b}} {
		if *part.into, err = json.Marshal(part.from); err != nil {
			return err
		}
	}
	return c.reply(out)
}

// told adds what the log does not have: inputs, calls and the log of a run.
func (c *call) told(ctx context.Context, log *joblog.Log, in *verb.SubJobQuery, out *verb.SubJobOf) error {
	n := log.Node(in.SubJob)
	for _, at := range n.Deps {
		from := log.Job.View().SubJobs[at]
		result := log.Result(from)
		line := verb.InputOf{SubJob: from.ID, Skipped: from.Skipped}
		var err error
		if line.Output, line.Size, line.Truncated, line.Href, err = c.bounded(ctx, result.Output, result.Ref); err != nil {
			return err
		}
		out.Inputs = append(out.Inputs, line)
	}
	calls, err := c.gateway.Client.Journals().CallsOf(ctx, log, in.SubJob)
	if err != nil {
		return err
	}
	end := log.Events[len(log.Events)-1].Time
	for i := range calls {
		x := &calls[i]
		if in.At > 0 && x.Asked.After(end) {
			continue
		}
		line := verb.CallOf{Run: x.Run, Key: x.Key, Name: x.Name, Args: x.Args, Outcome: x.Outcome, Reason: x.Reason, Begun: x.Begun, Model: x.Model, Spent: x.Spent, Asked: x.Asked, TookMS: x.TookMS}
		if line.Answer, line.Size, line.Truncated, line.Href, err = c.bounded(ctx, x.Recorded, x.RecordedRef); err != nil {
			return err
		}
		out.Calls = append(out.Calls, line)
	}
	w, err := c.gateway.Client.Logs().Written(ctx, in.ID, in.SubJob, n.Run)
	if errors.Is(err, bus.ErrNotFound) || n.Run == 0 {
		return nil // It has not run, or its log was deleted.
	}
	if err != nil {
		return err
	}
	out.LogSize = len(w.Log)
	if out.Log = w.Log; len(out.Log) > maxShown {
		out.Log = out.Log[len(out.Log)-maxShown:]
	}
	return nil
}

// at returns an address below the job of a call.
func (c *call) at(parts ...string) string {
	path := "/api/v1/jobs/" + c.text("id")
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// bounded returns a value that is inline or a payload: as JSON, or its beginning as text with the address of the rest.
func (c *call) bounded(ctx context.Context, inline json.RawMessage, ref *events.Ref) (value json.RawMessage, size int64, cut bool, href string, err error) {
	if ref == nil && (len(inline) == 0 || json.Valid(inline)) {
		return inline, int64(len(inline)), false, "", nil
	}
	if ref == nil { // A journal contains the output of programs, which need not be JSON.
		value, err = json.Marshal(string(inline))
		return value, int64(len(inline)), false, "", err
	}
	value, err = c.beginning(ctx, *ref)
	return value, ref.Size, true, c.at("payloads", ref.Digest), err
}

// beginning returns the beginning of a payload as text; empty if it was deleted or is not text.
func (c *call) beginning(ctx context.Context, ref events.Ref) (json.RawMessage, error) {
	text, err := c.gateway.Client.Preview(ctx, c.text("id"), ref, maxShown)
	if errors.Is(err, bus.ErrNotFound) {
		return json.RawMessage(`""`), nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

// runsOf lists the runs of a SubJob.
func runsOf(log *joblog.Log, subjob string) []verb.RunOf {
	list := []verb.RunOf{}
	of := func(run int) *verb.RunOf {
		for i := range list {
			if list[i].Run == run {
				return &list[i]
			}
		}
		list = append(list, verb.RunOf{Run: run})
		return &list[len(list)-1]
	}
	for i := range log.Events {
		e := &log.Events[i]
		if e.SubJob != subjob || e.Run == 0 {
			continue
		}
		r := of(e.Run)
		end := func(outcome string, spent events.Spent) {
			if r.Ended.IsZero() {
				r.Ended, r.Outcome, r.Spent, r.Seq = e.Time, outcome, spent, e.Seq
			}
		}
		switch d := e.Data.(type) {
		case *events.SubJobStarted:
			r.Owner, r.Started = d.Owner, e.Time
		case *events.SubJobReported:
			r.Lesson, r.Error = d.Lesson, d.Error
			if d.Owner != "" {
				r.Owner = d.Owner
			}
			if r.Started.IsZero() {
				r.Started = d.Started
			}
			end(string(d.Outcome), d.Spent)
		case *events.InputRequested:
			end("waiting", d.Spent)
		case *events.GraphCreated:
			end(string(events.Success), d.Spent)
		case *events.JobAnswered:
			end(string(events.Success), d.Spent)
		case *events.PlanRejected:
			end(string(events.ExecutionError), d.Spent)
		case *events.SubJobClosed:
			end("closed", events.Spent{})
		}
	}
	return list
}
