package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// planningRun drives one Planning: it answers each command, from the record if the answer is recorded. One goroutine owns
// it; besides that there is at most its heartbeat.
type planningRun struct {
	loop   *Loop
	d      *queue.Delivery
	w      *events.Work
	intake context.Context
	// ctx ends with the process, when the run is cancelled, and when the claim is lost; lose ends it.
	ctx  context.Context
	lose context.CancelCauseFunc

	start    planning.Start
	planning *planning.Planning
	record   *record                // nil until something has to be recorded.
	claimed  atomic.Pointer[record] // The same record, for the heartbeat.
	stage    planning.Stage
	beats    sync.WaitGroup // The goroutine of the heartbeat, which ends with ctx.
	beating  bool
	items    Items // nil until something is shown.
	// patience is the time until which to wait for experts.
	patience time.Time
}

// verdict is what a run publishes: the ending of its planning, or a question that parks it.
type verdict struct {
	end *planning.Ending
	ask *events.InputRequested
	// spent is the cost of this run; drafts counts the drafts of all runs by quality.
	spent  events.Spent
	drafts planning.Drafts
	cache  string // CacheHit, CacheMiss, or empty if plans are not reused.
}

// converse plans with a model, people and experts as necessary. raw is the request's plan with references resolved, or empty. If it
// returns an error, the verdict still holds the cost.
func (l *Loop) converse(work, intake context.Context, d *queue.Delivery, w *events.Work, raw []byte) (v verdict, err error) {
	t := &planningRun{loop: l, d: d, w: w, intake: intake, patience: time.Now().Add(l.ExpertWait)}
	t.ctx, t.lose = context.WithCancelCause(work)
	remove := l.runs.add(w, t.lose)
	if remove == nil {
		t.lose(nil)
		return v, &busyError{wait: defaultLease} // The broker was not informed in time that this process is working on it.
	}
	defer remove()
	defer t.beats.Wait()
	defer t.lose(nil)
	defer func() { t.shown(err == nil) }()
	defer func() {
		if value := recover(); value != nil {
			l.Logger.Error("planning panicked", "job", w.Job, "panic", value, "stack", string(debug.Stack()))
			v, err = rejected(events.Fault{
				Code: events.CodeInternal, Message: "planning broke down", Cause: fmt.Sprint(value), Hint: "this is a bug: report it with the request",
			}), nil
		}
	}()
	if fault := t.know(raw); fault != nil {
		return rejected(*fault), nil
	}
	if err := t.brief(); err != nil {
		return v, err
	}
	if err := t.recollect(); err != nil {
		return v, err
	}
	if err := t.gather(); err != nil {
		return v, err
	}
	if err := t.consult(); err != nil {
		return v, err
	}
	if fault, err := t.staffed(); err != nil {
		return v, err
	} else if fault != nil {
		return rejected(*fault), nil
	}
	t.reuse()
	v, err = t.run()
	if err == nil {
		t.cached(&v)
	}
	if cause := context.Cause(t.ctx); err != nil && cause != nil {
		err = cause
	}
	var dead crash
	if err != nil && t.record != nil && !errors.As(err, &dead) && !errors.Is(err, errLost) {
		t.lose(nil)
		t.beats.Wait() // No renewal may follow the release, and the release must not wait for one.
		t.record.Release(work)
	}
	return v, err
}

// instead is the verdict of a cancelled run: a late report that says that no planner works on it any more and what it has cost.
func instead(v *verdict, err error) (verdict, error) {
	var stop *cancelled
	if !errors.As(err, &stop) {
		return *v, err
	}
	late := rejected(events.Fault{Code: events.CodeCancelled, Message: "the run was cancelled", Cause: stop.reason})
	late.spent = v.spent
	return late, nil
}

// rejected is the verdict of a run that ends with a fault.
func rejected(fault events.Fault) verdict {
	return verdict{end: &planning.Ending{Kind: events.KindPlanRejected, Faults: events.Faults{fault}}}
}

// know fills in start: everything that planning may know. A fault says why it cannot begin.
func (t *planningRun) know(raw []byte) *events.Fault {
	w, l := t.w, t.loop
	if w.Request == nil {
		return &events.Fault{Code: events.CodeMissing, Field: "request", Message: "the planning work carries no request", Hint: "submit the job again"}
	}
	request := *w.Request
	request.Plan, request.PlanRef = raw, nil
	profile, version, err := l.Profiles.Find(request.Profile)
	if err != nil {
		return &events.Fault{Code: events.CodeNotFound, Field: "profile", Message: "there is no such profile", Cause: err.Error(), Hint: "name one of those, or none"}
	}
	t.start.Profile = profile // The profile decides which cards are offered.
	t.start = planning.Start{
		Mode: w.Kind, Prefix: fmt.Sprintf("%s-%d", w.SubJob, w.Run), Request: request, Cards: t.cards(raw), Profile: profile, Version: version,
		Now: time.Now().UTC(), Lessons: w.Lessons, Findings: findings(w.Results), Finished: w.Finished, MaxSteps: w.MaxSteps,
		DefaultExpert: l.Options.DefaultExpert, Informed: l.Options.Informed, Rules: l.Options.Version, Decisions: planning.DecisionsVersion,
	}
	if w.Kind == events.WorkSplit {
		part := w.Spec
		if part.ID == "" {
			part.ID = w.SubJob
		}
		t.start.Part = &part
	}
	if l.Model != nil {
		t.start.ModelName = l.Model.Name(&request)
		t.start.Model = t.start.ModelName != ""
	}
	return nil
}

// cards returns the cards at the start. With a plan, it waits for the plan's experts; without one, it waits for everything
// announced so far.
func (t *planningRun) cards(plan []byte) []events.Card {
	if len(plan) == 0 {
		return t.offered(t.loop.Catalog.Fresh(t.ctx))
	}
	cards, _ := t.loop.Catalog.Cards()
	return cards
}

// offered leaves out built-in experts that are for other profiles, unless the request names its plan or expert itself.
func (t *planningRun) offered(cards []events.Card) []events.Card {
	r := t.w.Request
	if r == nil || len(r.Plan) > 0 || r.PlanRef != nil || r.Expert != "" {
		return cards
	}
	return plan.Cast(cards, t.start.Profile.Name)
}

// findings converts existing results to findings for prompts.
func findings(results map[string]events.Result) []planning.Finding {
	ids := make([]string, 0, len(results))
	for id, r := range results {
		if !r.Skipped && len(r.Output) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	list := make([]planning.Finding, len(ids))
	for i, id := range ids {
		list[i] = planning.Finding{Source: id, Text: said(results[id].Output)}
	}
	return list
}

// run answers commands until planning ends or waits for a person.
func (t *planningRun) run() (verdict, error) {
	if t.w.ResumeOf > 0 {
		if err := t.open(); err != nil {
			return verdict{}, err
		}
	}
	t.begin()
	for {
		c := t.planning.Pending()
		var fact planning.Fact
		var err error
		switch c.Kind {
		case planning.End:
			return verdict{end: c.End, spent: t.planning.Spent(t.w.Run), drafts: t.planning.State().Drafts}, nil
		case planning.Ask:
			closed, told := t.w.Answers[t.start.RequestID(c.Key)]
			if !told {
				return t.park(&c)
			}
			fact = planning.Fact{Key: c.Key, Kind: planning.Closed, Action: closed.Action, Answer: closed.Answer, By: closed.By}
		case planning.Await:
			fact, err = t.await(&c)
		default:
			if t.exhausted() {
				return t.overspent(), nil
			}
			fact, err = t.ask(&c)
		}
		if errors.Is(err, errAnew) {
			t.begin()
			continue
		}
		if err != nil {
			return verdict{spent: t.paid(&fact)}, err
		}
		t.apply(fact)
	}
}

// paid is the cost of a run that ends before its planning does, including an answer that could not be recorded.
func (t *planningRun) paid(last *planning.Fact) events.Spent {
	return graph.AddSpent(t.planning.Spent(t.w.Run), last.Spent)
}

// begin creates the Planning; it counts as busy while it computes.
func (t *planningRun) begin() {
	if t.record != nil && t.record.start != nil {
		t.start = *t.record.start
	}
	ports := planning.Ports{Read: t.loop.Read, Zones: time.LoadLocation, Plan: t.loop.Options, Render: t.loop.Profiles.Render}
	t.loop.busy <- struct{}{}
	defer func() { <-t.loop.busy }()
	t.planning = planning.New(t.start, ports)
}

func (t *planningRun) apply(f planning.Fact) {
	t.loop.busy <- struct{}{}
	defer func() { <-t.loop.busy }()
	t.planning.Apply(f)
}

// errAnew means that another run recorded a start of this planning first; that one has to be folded instead.
var errAnew = errors.New("the session began before")

// open claims the run and records the start, unless an earlier one is recorded.
func (t *planningRun) open() error {
	if err := t.loop.Hook.at(AtClaim); err != nil {
		return err
	}
	r, err := t.loop.claim(t.ctx, t.w)
	if err != nil {
		return err
	}
	t.record = r
	t.claimed.Store(r)
	t.seam(r.start != nil && !r.own)
	t.beat()
	if r.start == nil {
		return r.begin(t.ctx, &t.start)
	}
	return nil
}

// remember makes sure that the run is claimed before anything costs money or takes a person's time.
func (t *planningRun) remember() error {
	if t.record != nil {
		return nil
	}
	if err := t.open(); err != nil {
		return err
	}
	if t.record.start != nil {
		return errAnew
	}
	return nil
}

// park returns the question of the planning; its answer starts the next run.
func (t *planningRun) park(c *planning.Command) (verdict, error) {
	if err := t.remember(); errors.Is(err, errAnew) {
		t.begin()
		return t.run()
	} else if err != nil {
		return verdict{}, err
	}
	t.tell(c.Stage)
	return verdict{ask: c.Ask, spent: t.planning.Spent(t.w.Run)}, nil
}

// ask answers a command once: a finished answer is taken from the record.
func (t *planningRun) ask(c *planning.Command) (planning.Fact, error) {
	if err := t.remember(); err != nil {
		return planning.Fact{}, err
	}
	if f, known := t.record.facts[c.Key]; known {
		return f, nil
	}
	t.tell(c.Stage)
	if err := t.loop.Hook.at(AtIntent); err != nil {
		return planning.Fact{}, err
	}
	if err := t.record.intend(t.ctx, c); err != nil {
		return planning.Fact{}, err
	}
	t.showPrompt(c)
	fact, err := t.answer(c)
	if err != nil {
		return fact, err
	}
	t.showRaw(c, &fact)
	fact.Key, fact.Run = c.Key, t.w.Run
	if err := t.loop.Hook.at(AtAnswered); err != nil {
		return fact, err
	}
	if err := t.record.keep(t.ctx, c, &fact); err != nil {
		return fact, err
	}
	return fact, t.loop.Hook.at(AtKept)
}

// answer passes a command to the part that can answer it.
func (t *planningRun) answer(c *planning.Command) (planning.Fact, error) {
	if c.Kind == planning.Investigate {
		return t.investigate(c)
	}
	fact, err := t.loop.Model.Ask(t.ctx, &Question{
		Request: &t.start.Request, Call: c.Call, Key: c.Key, IdempotencyKey: jobrun.CallKey(t.w.IdempotencyKey, c.Key),
		Live: func(body []byte) { t.loop.Log.Live(t.w.Job, t.w.SubJob, "", body) }, Show: t.show,
	})
	if later, ok := errors.AsType[*Later](err); ok {
		t.putOff(c.Key, later)
	}
	return fact, err
}

// mostPutOff limits the delay of a call that is put off repeatedly.
const mostPutOff = 10 * time.Minute

// putOff makes the delay of a call longer with each delivery, and tells watchers and the log what planning waits for.
func (t *planningRun) putOff(key string, later *Later) {
	times := max(t.d.Count, 1)
	later.After = max(later.After, min(later.After*time.Duration(min(times, 1000)), mostPutOff))
	until := time.Now().Add(later.After).UTC()
	id := fmt.Sprintf("%s/later/%d", key, times)
	t.show(item.Item{
		Type: item.Warning, ID: "progress/" + id, Done: true,
		Text: later.Why.Error() + "; it is asked again at " + until.Local().Format(time.TimeOnly),
	})
	t.milestone(id, events.SubJobProgressed{Message: later.Why.Error(), Until: until})
}

// await waits a limited time for the cards to change: a runner may just be starting.
func (t *planningRun) await(c *planning.Command) (planning.Fact, error) {
	cards, changed := t.loop.Catalog.Cards()
	cards = t.offered(cards)
	fact := planning.Fact{Key: c.Key, Kind: planning.Cards, Cards: cards, Run: t.w.Run}
	left := time.Until(t.patience)
	if left <= 0 {
		fact.Waited = true
		return fact, nil
	}
	if !sameCards(cards, t.planning.State().Cards) {
		return fact, nil
	}
	var err error
	if fact.Waited, err = t.changes(changed, left); err != nil || fact.Waited {
		return fact, err
	}
	cards, _ = t.loop.Catalog.Cards()
	fact.Cards = t.offered(cards)
	return fact, nil
}

// changes waits for a change of the cards. It reports whether the time passed without one.
func (t *planningRun) changes(changed <-chan struct{}, most time.Duration) (over bool, err error) {
	t.beat()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
		return false, nil
	case <-timer.C:
		return true, nil
	case <-t.ctx.Done():
	case <-t.intake.Done():
	}
	return false, errDraining
}

// staffed waits for an expert that plans may use, and returns a fault with advice if none appears: no model is asked for a
// plan that no expert could execute. It does not wait if planning has already started or if the plan or expert is given.
func (t *planningRun) staffed() (*events.Fault, error) {
	s := &t.start
	if s.Mode == events.WorkFinalize || !s.Model || len(s.Request.Plan) > 0 || strings.TrimSpace(s.Request.Expert) != "" || t.w.ResumeOf > 0 {
		return nil, nil
	}
	for !plan.Staffed(s.Cards) {
		cards, changed := t.loop.Catalog.Cards()
		cards = t.offered(cards)
		if plan.Staffed(cards) {
			s.Cards = cards
			break
		}
		if over, err := t.changes(changed, time.Until(t.patience)); err != nil {
			return nil, err
		} else if over {
			return &events.Fault{
				Code: events.CodeUnknownExpert, Field: "experts", Message: "there is no expert to plan for, and no model was asked",
				Hint: "give `jobgraph run` or `jobgraph up` cards with --experts, or start a runner that has some; `jobgraph experts list` shows who is there",
			}, nil
		}
	}
	return nil, nil
}

// sameCards reports whether two lists contain the same cards.
func sameCards(a, b []events.Card) bool {
	return slices.EqualFunc(a, b, func(x, y events.Card) bool { return x.ID == y.ID })
}

// tell publishes each stage in which a model or a person is asked, once, for watchers.
func (t *planningRun) tell(stage planning.Stage) {
	if stage == t.stage {
		return
	}
	t.stage = stage
	t.show(item.Item{Type: item.Progress, ID: "progress/" + t.planning.Pending().Key, Text: string(stage), Done: true})
	t.milestone(t.planning.Pending().Key, events.SubJobProgressed{Message: string(stage)})
}

// milestone puts progress into the log, once for each id of the run.
func (t *planningRun) milestone(id string, p events.SubJobProgressed) {
	t.loop.Log.Tell(events.Event{
		Kind: events.KindSubJobProgressed, Job: t.w.Job, SubJob: t.w.SubJob, Run: t.w.Run, Source: source, Trace: t.d.Trace,
		ID:   fmt.Sprintf("%s/%s/%s/%d/%s", t.w.Job, events.KindSubJobProgressed, t.w.SubJob, t.w.Run, id),
		Data: &p,
	})
}

// beat sends heartbeats for the delivery while a call runs, and renews the claim if there is one.
func (t *planningRun) beat() {
	if t.beating {
		return
	}
	t.beating = true
	every := longestBeat
	if t.w.Lease > 0 {
		every = min(every, max(t.w.Lease.Std()/3, 100*time.Millisecond))
	}
	t.beats.Go(func() { // Ends with ctx.
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-t.ctx.Done():
				return
			case <-tick.C:
			}
			t.loop.settled(t.d, t.d.Receipt.InProgress())
			r := t.claimed.Load()
			if r == nil {
				continue
			}
			if err := r.Renew(t.ctx); errors.Is(err, errLost) {
				t.lose(err)
				return
			}
		}
	})
}

// longestBeat is well below the time after which the broker redelivers work.
const longestBeat = 3 * time.Second
