package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
)

// readSchedules bounds the wait after a start until all schedules have been read.
const readSchedules = 30 * time.Second

// schedules answers the verbs about schedules.
type schedules struct{ view *API }

func (sc schedules) verbs() map[string]func(context.Context, []byte) (any, error) {
	verbs := map[string]func(context.Context, []byte) (any, error){
		"schedule.create": sc.create, "schedule.list": sc.list, "schedule.get": sc.get,
	}
	for verb, kind := range map[string]events.Kind{
		"pause": schedule.Paused, "resume": schedule.Resumed, "trigger": schedule.Triggered, "delete": schedule.Deleted,
	} {
		verbs["schedule."+verb] = func(ctx context.Context, body []byte) (any, error) { return sc.tell(ctx, body, kind) }
	}
	for verb, answer := range verbs {
		verbs[verb] = func(ctx context.Context, body []byte) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, readSchedules)
			defer cancel()
			return answer(ctx, body)
		}
	}
	return verbs
}

func (sc schedules) create(ctx context.Context, body []byte) (any, error) {
	var c verb.ScheduleCreation
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	request, faults := events.DecodeRequest(c.Request)
	faults = slices.DeleteFunc(faults, func(f events.Fault) bool { // Faults of the values are reported below.
		return f.Code != events.CodeUnknownField && f.Code != events.CodeMalformed && f.Cause == ""
	})
	for i := range faults {
		faults[i].Field = strings.TrimSuffix("request."+faults[i].Field, ".")
	}
	if who := asker.Of(ctx); who != nil { // Its jobs run in the name of that user.
		user, err := who.Named(request.User)
		if err != nil {
			return nil, err
		}
		request.User = user
	}
	c.Spec.Request = request
	if c.ID == "" {
		c.ID = "s-" + strings.ToLower(nonce()[:16])
	}
	if err := sc.view.admitter.Zone(ctx, &c.Spec, bus.ZoneOf(ctx)); err != nil {
		return nil, err
	}
	made, err := sc.view.Schedules.Create(ctx, c.ID, schedule.Creation{Spec: c.Spec, By: c.By}, bus.TraceOf(ctx), faults...)
	if made == nil {
		return nil, err
	}
	return made, err
}

func (sc schedules) get(ctx context.Context, body []byte) (any, error) {
	var r verb.Ref
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	s, err := sc.view.Schedules.Get(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	s.Asks = sc.asks(ctx, s)
	return s, nil
}

// asks returns the questions to people that runs of a schedule are waiting for. Those of a job that cannot be read are left out, so
// that the schedule can be shown in any case.
func (sc schedules) asks(ctx context.Context, s *recurring.Info) (list []verb.Question) {
	for i := range s.Recent {
		if s.Recent[i].Status != schedule.RunRunning {
			continue
		}
		if open, err := sc.view.questions(ctx, s.Recent[i].JobID); err == nil {
			list = append(list, open...)
		}
	}
	return slices.DeleteFunc(list, func(q verb.Question) bool { return q.Kind == events.InputTimer })
}

// list shows all schedules, without their requests and with only the last run of each.
func (sc schedules) list(ctx context.Context, body []byte) (any, error) {
	var s verb.ScheduleQuery
	if len(body) > 0 {
		if err := decode(body, &s); err != nil {
			return nil, err
		}
	}
	list, err := sc.view.Schedules.List(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(x *recurring.Info) bool { return s.Status != "" && x.Status != s.Status })
	if s.Limit <= 0 {
		s.Limit = mostListed
	}
	page := list[min(max(0, s.Offset), len(list)):]
	page = page[:min(len(page), s.Limit)]
	for _, x := range page {
		x.Request = events.Request{Goal: brief(x.Request.Goal), Expert: x.Request.Expert, Session: x.Request.Session, User: x.Request.User}
		x.Asks = sc.asks(ctx, x)
		for i := range x.Asks {
			x.Asks[i].Prompt, x.Asks[i].Schema = brief(x.Asks[i].Prompt), nil
		}
		x.Recent = x.Recent[max(0, len(x.Recent)-1):]
		for i := range x.Recent {
			x.Recent[i].Result = nil
		}
	}
	return map[string]any{"schedules": page, "total": len(list)}, nil
}

// brief returns the beginning of a goal, for a list.
func brief(goal string) string {
	const most = 120
	if text := []rune(goal); len(text) > most {
		return string(text[:most]) + "…"
	}
	return goal
}

func (sc schedules) tell(ctx context.Context, body []byte, kind events.Kind) (any, error) {
	var r verb.ScheduleWord
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	told, err := sc.view.Schedules.Tell(ctx, r.ID, kind, r.Word)
	if err != nil {
		return nil, err
	}
	return told, nil
}
