package webhook

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// mostBody limits a notice, in bytes, since receivers expect small ones. mostText limits the goal or prompt in it.
const (
	mostBody = 20 << 10
	mostText = 1 << 10
)

// noticeOf returns the notice about an event; ok is false if there is none. r is the request of the job, nil if it is not known.
func noticeOf(t *Target, e *events.Event, r *events.Request) (n bus.Notice, ok bool) {
	m := verb.Notice{Type: e.Kind, Timestamp: e.Time, Data: verb.Noticed{Seq: e.Seq, Job: verb.NoticedJob{ID: e.Job}}}
	if r != nil {
		m.Data.Job = verb.NoticedJob{ID: e.Job, Goal: clip.Marked(r.Goal, mostText), Session: r.Session, User: r.User, Labels: r.Labels}
	}
	switch data := e.Data.(type) {
	case *events.JobEnded:
		m.Data.End = data
	case *events.InputRequested:
		if data.Kind == events.InputTimer {
			return n, false
		}
		m.Data.Question = questionOf(e, data)
	default:
		return n, false
	}
	if !t.wants(e.Kind) || t.OnRequest && m.Data.Job.Labels[Label] != t.Name {
		return n, false
	}
	body, err := json.Marshal(m)
	if len(body) > mostBody {
		cut(&m.Data)
		body, err = json.Marshal(m)
	}
	return bus.Notice{ID: e.Job + "-" + strconv.FormatUint(e.Seq, 10), Job: e.Job, Seq: e.Seq, Target: t.Name, Body: body}, err == nil
}

// cut removes the fields that may be long.
func cut(d *verb.Noticed) {
	d.Cut, d.Job.Labels = true, nil
	if d.End != nil {
		end := *d.End
		end.Result, end.Artifacts = nil, nil
		d.End = &end
	}
	if d.Question != nil {
		d.Question.Prompt, d.Question.Options, d.Question.Schema = clip.Marked(d.Question.Prompt, mostText), nil, nil
	}
}

func questionOf(e *events.Event, r *events.InputRequested) *verb.Question {
	q := &verb.Question{
		JobID: e.Job, Request: r.Request, SubJob: e.SubJob, Kind: r.Kind, Prompt: r.Prompt, Options: r.Options, Schema: r.Schema, Open: r.Open, User: r.User,
	}
	if r.ExpiresIn > 0 {
		q.Expires = e.Time.Add(time.Duration(r.ExpiresIn))
	}
	return q
}
