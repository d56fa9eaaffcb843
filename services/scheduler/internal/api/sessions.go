package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/session"
)

// sessions answers the verbs about sessions.
type sessions struct{ view *API }

// verbs returns the verbs about sessions.
func (s sessions) verbs() map[string]func(context.Context, []byte) (any, error) {
	return map[string]func(context.Context, []byte) (any, error){
		"sessions.list": s.list, "sessions.show": s.show, "sessions.rename": s.rename,
		"sessions.stop": s.stop, "sessions.delete": s.delete, "sessions.conversation": s.conversation,
	}
}

// sessionQuery says which sessions to list.
type sessionQuery struct{ verb.SessionQuery }

func (q *sessionQuery) wants(r *session.Record) bool {
	return (q.User == "" || q.User == r.User) && (q.State == "" || q.State == string(r.State)) && (q.All || r.Parent == "")
}

// list shows sessions without their jobs, most recently changed first.
func (s sessions) list(ctx context.Context, body []byte) (any, error) {
	var q sessionQuery
	if len(body) > 0 {
		if err := decode(body, &q.SessionQuery); err != nil {
			return nil, err
		}
	}
	all, err := s.view.Sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	list := []*session.Record{}
	for _, r := range all {
		if q.wants(r) {
			r.Jobs = r.Jobs[len(r.Jobs)-1:] // The last one shows what the session is about.
			list = append(list, r)
		}
	}
	total := len(list)
	list = list[min(max(0, q.Offset), total):]
	if q.Limit <= 0 {
		q.Limit = mostListed
	}
	return map[string]any{"sessions": list[:min(len(list), q.Limit)], "total": total}, nil
}

// show shows a session with its latest jobs, or with those before one of them.
func (s sessions) show(ctx context.Context, body []byte) (any, error) {
	var q verb.SessionJobs
	r, err := s.read(ctx, body, &q, &q.SessionRef)
	if err != nil {
		return nil, err
	}
	if q.Before != "" {
		at := 0
		for at < len(r.Jobs) && r.Jobs[at].ID != q.Before {
			at++
		}
		if at == len(r.Jobs) {
			return nil, &events.Fault{Code: events.CodeNotFound, Field: "before", Message: "the session keeps no such job", Hint: "leave it out for the latest jobs"}
		}
		r.Jobs = r.Jobs[:at]
	}
	if q.Limit > 0 && len(r.Jobs) > q.Limit {
		r.Jobs = r.Jobs[len(r.Jobs)-q.Limit:]
	}
	return r, nil
}

// read decodes a request and reads the session that it names. A bare text stands for the id.
func (s sessions) read(ctx context.Context, body []byte, into any, named *verb.SessionRef) (*session.Record, error) {
	if err := decode(body, into); err != nil {
		return nil, err
	}
	if named.ID == "" {
		return nil, &events.Fault{Code: events.CodeMissing, Field: "id", Message: "no session is named", Hint: `send {"id":"…"}`}
	}
	r, err := s.view.Sessions.Get(ctx, named.ID)
	if err == nil {
		err = r.Permits(named.User)
	}
	return r, err
}

// conversation returns what was said in a session: the last items, those before a sequence, or the first after one.
func (s sessions) conversation(ctx context.Context, body []byte) (any, error) {
	var q verb.ConversationQuery
	r, err := s.read(ctx, body, &q, &q.SessionRef)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > mostItems {
		q.Limit = mostItems
	}
	conversations := s.view.bus.Conversations()
	if q.After == nil {
		return session.Conversation(ctx, s.view.bus, r, q.Before, q.Limit)
	}
	page := bus.Page{Items: []item.Entry{}, Earlier: *q.After > 0}
	for e, err := range conversations.After(ctx, r.ID, *q.After) {
		if err != nil {
			return nil, err
		}
		if page.Items = append(page.Items, e); len(page.Items) == q.Limit {
			break
		}
	}
	return page, nil
}

// mostItems bounds one page of a conversation, so that it fits a message.
const mostItems = 50

func (s sessions) rename(ctx context.Context, body []byte) (any, error) {
	var q verb.Renaming
	if _, err := s.read(ctx, body, &q, &q.SessionRef); err != nil {
		return nil, err
	}
	if strings.TrimSpace(q.Title) == "" {
		return nil, &events.Fault{Code: events.CodeMissing, Field: "title", Message: "there is no title", Hint: `send {"id":"…","title":"…"}`}
	}
	return s.view.Sessions.Rename(ctx, q.ID, q.Title)
}

// stop stops the running jobs of a session, and waits for their ends like the verb stop.
func (s sessions) stop(ctx context.Context, body []byte) (any, error) {
	var q verb.SessionStop
	r, err := s.read(ctx, body, &q, &q.SessionRef)
	if err != nil {
		return nil, err
	}
	if q.Reason == "" {
		q.Reason = "its session was stopped"
	}
	stopped := make([]string, len(r.Jobs))
	failed := make([]error, len(r.Jobs))
	places := make(chan struct{}, stopsAtOnce)
	var all sync.WaitGroup
	for i := range r.Jobs {
		l := &r.Jobs[i]
		if l.Status.Terminal() {
			continue
		}
		places <- struct{}{}
		all.Go(func() { // Ends with the job, or with the patience of stop.
			defer func() { <-places }()
			if requested, err := s.belongs(ctx, l.ID, r); err != nil || requested == nil {
				failed[i] = err
				return
			}
			request, err := json.Marshal(verb.Ending{Ref: verb.Ref{ID: l.ID}, StopRequested: events.StopRequested{SubJob: l.SubJob, Only: l.SubJob != "", Reason: q.Reason, By: q.By}})
			if err == nil {
				_, err = s.view.stop(ctx, request)
			}
			if err == nil {
				stopped[i] = l.ID
			}
			failed[i] = stopFailed(err)
		})
	}
	all.Wait()
	ids := []string{}
	for _, id := range stopped {
		if id != "" {
			ids = append(ids, id)
		}
	}
	return map[string]any{"id": q.ID, "stopped": ids}, errors.Join(failed...)
}

// stopsAtOnce bounds how many jobs of a session are stopped at the same time.
const stopsAtOnce = 16

// stopFailed ignores the error for a job that has already ended or does not exist.
func stopFailed(err error) error {
	var fault *events.Fault
	if errors.As(err, &fault) && (fault.Code == events.CodeNotFound || fault.Code == events.CodeConflict) {
		return nil
	}
	return err
}

// delete removes a session without running jobs and, if the request says "jobs", everything that is stored about its jobs.
func (s sessions) delete(ctx context.Context, body []byte) (any, error) {
	var q verb.SessionDeletion
	r, err := s.read(ctx, body, &q, &q.SessionRef)
	if err != nil {
		return nil, err
	}
	var ours []string
	for i := range r.Jobs {
		l := &r.Jobs[i]
		request, err := s.belongs(ctx, l.ID, r)
		if err == nil && request != nil {
			err = s.ended(ctx, l, request.Seq, r.ID, q.Jobs)
		}
		if err != nil {
			return nil, err
		}
		if request != nil && l.SubJob == "" {
			ours = append(ours, l.ID)
		}
	}
	deleted := []string{}
	if q.Jobs {
		for _, id := range ours {
			if err := s.view.bus.Retention().PurgeJob(ctx, id); err != nil {
				return nil, err
			}
			deleted = append(deleted, id)
		}
	}
	for _, id := range r.All() {
		if err := s.view.bus.Documents().DeleteAll(ctx, bases.Base{Scope: bases.Session, Name: id}); err != nil {
			return nil, err
		}
		if err := s.view.bus.Conversations().Delete(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := s.view.Sessions.Remove(ctx, r); err != nil {
		return nil, err
	}
	return map[string]any{"id": q.ID, "deleted": true, "jobs": deleted}, nil
}

// belongs returns the request of the job with an id if that job is one of a session, the zero event if there is no such job, and
// nil if the job of the session was deleted and another one has taken the id.
func (s sessions) belongs(ctx context.Context, id string, r *session.Record) (*events.Event, error) {
	e, err := s.view.bus.Log().LastOf(ctx, id, events.KindJobRequested)
	if err != nil {
		return nil, err
	}
	session := r.ID
	if r.Parent != "" {
		session = r.Parent // A session of a handed-off SubJob lists the jobs of its parent.
	}
	if d, ok := e.Data.(*events.JobRequested); ok && d.Request.Session != session {
		return nil, nil
	}
	return &e, nil
}

// ended refuses a session if one of its jobs, requested at a sequence, has not ended; jobs that were never admitted, or that no
// longer exist, do not count. If all its jobs are to be deleted as well, their logs decide, not the record of the session.
func (s sessions) ended(ctx context.Context, l *session.Line, requested uint64, session string, all bool) error {
	if !all && l.Status.Terminal() && requested < l.Seq {
		return nil
	}
	job, err := s.view.foldLog(ctx, l.ID)
	var fault *events.Fault
	switch {
	case errors.As(err, &fault) && fault.Code == events.CodeNotFound:
		return nil
	case err != nil && s.view.leftAlone(ctx, l.ID):
		return nil
	case err != nil:
		return err
	case job.Status.Terminal():
		return nil
	}
	return &events.Fault{
		Code: events.CodeConflict, Field: "id", Message: "job " + l.ID + " of the session is " + string(job.Status),
		Hint: "jobgraph sessions stop " + session + ", then delete it",
	}
}
