package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// dice make choices out of one drawn seed, evenly: what rapid draws itself is mostly small. A failure shrinks by the number
// of acts.
type dice struct {
	t     tester
	seed  uint64
	count uint64
}

// tester is what rapid's T and testing's T share.
type tester interface {
	musttest.T
	Fatalf(format string, args ...any)
}

func newDice(t *rapid.T) *dice { return &dice{t: t, seed: rapid.Uint64().Draw(t, "seed")} }

func (d *dice) roll(sides int) int {
	d.count++
	x := (d.seed + d.count) * 0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return int(x % uint64(sides))
}

func oneOf[T any](d *dice, of []T) T { return of[d.roll(len(of))] }

// drawRules draws limits so small that every one of them is met.
func drawRules(w *dice) events.Rules {
	r := events.Rules{
		Version: 1 + w.roll(events.RulesVersion), MaxSteps: 8, MaxPlanRounds: 1 + w.roll(3), LifeCycle: w.roll(4),
		Retries: w.roll(4), InputRounds: w.roll(4),
		Concurrency:   oneOf(w, []int{0, 0, 1, 2}),
		RetryDelay:    oneOf(w, []events.Duration{0, events.Duration(time.Second)}),
		RetryDelayMax: events.Duration(time.Minute),
		FailurePolicy: oneOf(w, []events.FailurePolicy{events.FailFast, events.Continue, events.Replan}),
		Finalize:      oneOf(w, []string{"tails", "none", "expert:writer", "summary", "report:writer"}),
		Lease:         events.Duration(30 * time.Second), LeaseMargin: events.Duration(5 * time.Second),
	}
	if w.roll(5) == 0 {
		r.Deadline = events.Duration(time.Hour)
	}
	if w.roll(8) == 0 {
		r.Tokens = 20
	}
	return r
}

// drawPlan draws a plan of a few steps in any shape, sometimes one that is not a graph.
func drawPlan(w *dice) *events.Plan {
	names := []string{"a", "b", "c", "d", "e"}
	for i := range names {
		k := i + w.roll(len(names)-i)
		names[i], names[k] = names[k], names[i]
	}
	names = names[:1+w.roll(5)]
	p := &events.Plan{}
	for i, id := range names {
		s := events.SubJob{ID: id, Goal: "do " + id, Expert: "x"}
		for _, dep := range names[:i] {
			if w.roll(2) == 0 {
				s.Dependencies = append(s.Dependencies, dep)
			}
		}
		switch w.roll(10) {
		case 0:
			s.ExecutionRes, s.Expert = json.RawMessage(`{"ok":true}`), ""
		case 1:
			s.ExecutionRes = json.RawMessage(`{"ok":false}`)
		case 2, 3:
			if len(s.Dependencies) > 0 {
				s.When = s.Dependencies[0] + ".ok"
			}
		case 4:
			limit := events.Duration(time.Minute)
			s.Timeout = &limit
		case 5:
			s.Goal = "do something else"
		}
		p.SubJobs = append(p.SubJobs, s)
	}
	switch w.roll(12) {
	case 0:
		p.SubJobs[0].Dependencies = append(p.SubJobs[0].Dependencies, names[len(names)-1])
	case 1:
		p.SubJobs[0].Dependencies = append(p.SubJobs[0].Dependencies, oneOf(w, []string{"a", "b", "c", "d", "e", "nobody"}))
	case 2:
		p.SubJobs = nil
	}
	return p
}

func drawReport(w *dice, good int) *events.SubJobReported {
	r := &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":true}`), Spent: events.Spent{Tokens: 1}}
	switch n := w.roll(20); {
	case n < good:
		if w.roll(2) == 0 {
			r.Output = json.RawMessage(`{"ok":false}`)
		}
	case n < good+(20-good)/3:
		r.Outcome = events.InputDataError
	case n < good+2*(20-good)/3:
		r.Outcome = events.TooComplicated
	default:
		r.Outcome = events.ExecutionError
		if w.roll(3) == 0 {
			r.Error = &events.Fault{Code: events.CodeNotPermitted}
		}
	}
	return r
}

// act makes one thing happen.
func (w *simulation) act() {
	s := &w.pair[w.roll(2)]
	if w.truth.Status.Terminal() && w.roll(6) == 0 {
		if w.truth.Status == events.Finished {
			w.append(control(&events.RerunRequested{SubJob: oneOf(w.dice, w.truth.dag.nodes).ID}))
		} else {
			w.append(control(&events.RecoverRequested{}))
		}
	}
	switch oneOf(w.dice, acts) {
	case "schedule":
		w.advance(s, len(w.log))
		w.deliver(s, 1<<20)
	case "lag":
		w.advance(s, 1+w.roll(5))
		w.deliver(s, w.roll(4))
	case "save":
		if s.job != nil {
			s.saved, _ = json.Marshal(s.job)
			s.savedAt = s.at
		}
	case "crash":
		s.job = nil
	case "work":
		w.actWork()
	case "time":
		if due := w.due(); len(due) > 0 {
			w.fire(due[w.roll(min(3, len(due)))])
		}
	case "people":
		w.actPeople()
	case "control":
		w.append(control(w.drawControl()))
	case "noise":
		w.actNoise()
	}
}

var acts = []string{"schedule", "schedule", "schedule", "schedule", "lag", "save", "crash", "work", "work", "work", "work", "work", "work", "time", "time", "people", "control", "noise"}

func (w *simulation) actWork() {
	ids := w.pieces()
	if len(ids) == 0 {
		return
	}
	id := ids[w.roll(len(ids))]
	if !w.claim(id) && !w.work[id].claimed {
		return
	}
	how := w.roll(20)
	switch {
	case how == 0:
		return // It dies, or takes long.
	case how == 1:
		w.once(events.Event{Kind: events.KindSubJobStarted, SubJob: id.SubJob, Run: id.Run, Data: &events.SubJobStarted{}})
	case how == 2:
		request := fmt.Sprintf("q%d", w.roll(31))
		ask := &events.InputRequested{Request: request, Kind: oneOf(w.dice, []events.InputKind{events.InputApproval, events.InputTimer}), ExpiresIn: oneOf(w.dice, []events.Duration{0, events.Duration(time.Minute)})}
		w.end(id, events.KindInputRequested, ask)
		w.asked = append(w.asked, request)
	case how == 3:
		e := events.Event{Kind: events.KindSubJobReported, SubJob: id.SubJob, Run: id.Run, Raw: []byte("?"), Fault: &events.Fault{Code: events.CodeMalformed, Message: "malformed"}}
		if !w.work[id].ended {
			w.work[id].ended = w.once(e)
		}
	case planningMode(w.work[id].order.Kind):
		switch w.roll(30) {
		case 0:
			w.end(id, events.KindPlanRejected, &events.PlanRejected{Faults: events.Faults{{Code: events.CodeRejected, Message: "no"}}})
		case 1:
			w.end(id, events.KindJobAnswered, &events.JobAnswered{Answer: json.RawMessage(`1`)})
		default:
			w.end(id, events.KindGraphCreated, &events.GraphCreated{Plan: drawPlan(w.dice)})
		}
	default:
		w.end(id, events.KindSubJobReported, drawReport(w.dice, 13))
	}
}

func (w *simulation) actPeople() {
	if len(w.asked) == 0 {
		return
	}
	request := w.asked[w.roll(len(w.asked))]
	action := oneOf(w.dice, []events.InputAction{events.Answered, events.Answered, events.Cancelled})
	w.once(events.Event{Kind: events.KindInputClosed, Key: request, Data: &events.InputClosed{Action: action, Answer: json.RawMessage(`{}`)}})
}

// drawControl draws a control event.
func (w *simulation) drawControl() any {
	j := w.truth
	n := j.dag.nodes[w.roll(len(j.dag.nodes))]
	run := oneOf(w.dice, []int{0, n.Run, n.Run, n.Run + 1})
	switch w.roll(8) {
	case 0:
		return &events.StopRequested{SubJob: oneOf(w.dice, []string{"", n.ID}), Run: run, Only: w.roll(2) == 0}
	case 1:
		return &events.FailRequested{SubJob: oneOf(w.dice, []string{"", n.ID}), Run: run, Only: w.roll(2) == 0}
	case 2, 3:
		return &events.RecoverRequested{From: oneOf(w.dice, []string{"", n.ID})}
	case 4:
		return &events.RetryRequested{SubJob: n.ID, Run: run}
	case 5:
		edit := oneOf(w.dice, []string{"", `{"goal":"other"}`, `{"expert":"y"}`, `{"expert":"a.b"}`, `5`})
		return &events.RerunRequested{SubJob: n.ID, Run: run, Edit: json.RawMessage(edit)}
	}
	return &events.PlanEdited{PlanVersion: j.PlanVersion + oneOf(w.dice, []int{0, 0, 0, 1}), Plan: drawPlan(w.dice)}
}

// actNoise appends events that are not expected.
func (w *simulation) actNoise() {
	old := w.log[w.roll(len(w.log))]
	ghost := events.Event{SubJob: "ghost", Run: 1}
	switch w.roll(8) {
	case 0:
		if old.Kind == events.KindTimerFired || old.Kind == events.KindJobAdvanced || old.Kind == events.KindSubJobStarted {
			w.append(old)
		}
	case 1:
		ghost.Kind, ghost.Data = events.KindSubJobReported, &events.SubJobReported{Outcome: events.Success}
		w.append(ghost)
	case 2:
		n := w.truth.dag.nodes[w.roll(len(w.truth.dag.nodes))]
		w.append(events.Event{Kind: events.KindSubJobReported, SubJob: n.ID, Run: n.Run + 1 + len(w.log), Data: &events.SubJobReported{Outcome: events.Success}})
	case 3:
		w.append(events.Event{Kind: events.KindTimerFired, Key: "x", Data: &events.TimerFired{Timer: oneOf(w.dice, []string{"x", "retry~a~1", "fence~a~9", "input~q1~1", "timeout~a~1", "deadline~~7", "reap~~3", "deadline~~9999999999999999999999"})}})
	case 4:
		w.append(events.Event{Control: true, Fault: &events.Fault{Code: events.CodeMalformed, Message: "garbage"}})
	case 5:
		ghost.Kind, ghost.Data = events.KindSubJobClosed, &events.SubJobClosed{Claimed: true}
		w.append(ghost)
	case 6:
		w.append(events.Event{Kind: events.KindInputClosed, Key: "nobody", Data: &events.InputClosed{Action: events.Answered}})
	case 7:
		w.append(events.Event{Kind: "future.kind", Fault: &events.Fault{Code: events.CodeSkippable, Message: "unknown"}})
	}
}

// finish answers all open work and lets all timers fire, until the job has ended.
func (w *simulation) finish(answer func(CommandID)) {
	for range 3000 {
		w.catchUp()
		if w.truth.Status.Terminal() && !w.truth.EndOwed {
			return
		}
		progressed := false
		for _, id := range w.pieces() {
			if w.claim(id) || w.work[id].claimed && !w.work[id].closed {
				answer(id)
				progressed = true
				break
			}
		}
		if progressed {
			continue
		}
		if due := w.due(); len(due) > 0 {
			w.fire(due[0])
			continue
		}
		if len(w.truth.Inputs) == 0 {
			w.t.Fatalf("the job is %s and nothing can happen any more: %+v\n%s", w.truth.Status, w.truth.Why(""), w.history())
		}
		w.once(events.Event{Kind: events.KindInputClosed, Key: w.truth.Inputs[0].Request, Data: &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`{}`)}})
	}
	w.t.Fatalf("the job does not end: %s\n%s", w.truth.Status, w.history())
}

func (w *simulation) succeed(id CommandID) {
	if planningMode(w.work[id].order.Kind) {
		w.end(id, events.KindGraphCreated, &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{sub("fin")}}})
		return
	}
	w.end(id, events.KindSubJobReported, &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":true}`)})
}

// The simulation itself checks with every event: NoSubJobStartsBeforeItsInputsAreFinal (publish, checkInvariants),
// NeverTwoUnfencedLiveRuns (claim), TerminalIsFinal (checkStep), that every transition is in the table (checkMoves), and
// that the naive oracle agrees.
func TestEveryAcceptedJobEndsWhateverHappensOnTheWay(t *testing.T) { rapid.Check(t, historyEnds) }

func historyEnds(t *rapid.T) {
	w := newSimulation(newDice(t), nil)
	for range rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(60, 200), rapid.IntRange(120, 200)).Draw(t, "acts") {
		w.act()
	}
	w.finish(w.succeed)
	for id, p := range w.work {
		if p.order != nil && !p.closed && !p.ended {
			t.Fatalf("run %d of %s is still on the queue of an ended job\n%s", id.Run, id.SubJob, w.history())
		}
	}
}

func TestFoldEqualsSavedStateFoldTwiceSameBytesReloadOwesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newSimulation(newDice(t), nil)
		w.oracle = false
		for range rapid.IntRange(0, 10).Draw(t, "parts") {
			for range w.roll(20) {
				w.act()
			}
			w.catchUp()
			want := musttest.JSON(w.t, w.truth)
			for range 2 {
				folded := musttest.Get(Fold(w.entries(len(w.log))))(w.t)
				if got, _ := json.Marshal(folded); !bytes.Equal(got, want) {
					w.t.Fatalf("fold differs from what was stepped: %s", cmp.Diff(string(want), string(got)))
				}
			}
			for i := range w.pair {
				s := &w.pair[i]
				if s.job == nil {
					continue
				}
				if got, _ := json.Marshal(s.job); !bytes.Equal(got, want) {
					w.t.Fatalf("scheduler %d differs: %s", i, cmp.Diff(string(want), string(got)))
				}
			}
			var loaded Job
			musttest.Decode(w.t, want, &loaded)
			folded, _ := Fold(w.entries(len(w.log)))
			if diff := cmp.Diff(owed(folded), owed(&loaded)); diff != "" {
				w.t.Fatalf("a loaded state owes something else (-folded +loaded):\n%s", diff)
			}
		}
	})
}

func TestTerminationWithinBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newSimulation(newDice(t), func(r *events.Rules) {
			r.LifeCycle, r.Retries, r.InputRounds = min(r.LifeCycle, 1), min(r.Retries, 1), min(r.InputRounds, 1)
		})
		r := w.rules
		w.oracle = false
		w.finish(func(id CommandID) {
			switch {
			case planningMode(w.work[id].order.Kind):
				w.end(id, events.KindGraphCreated, &events.GraphCreated{Plan: drawPlan(w.dice)})
			default:
				w.end(id, events.KindSubJobReported, drawReport(w.dice, 6))
			}
		})
		// Every input round may rerun all of at most eight steps, each of which may be split once into at most eight.
		most := 2 * r.MaxPlanRounds * (8 + 8*8) * (2 + r.Retries) * (2 + r.InputRounds)
		if w.runs > most {
			t.Fatalf("%d runs, at most %d", w.runs, most)
		}
	})
}

// control makes the control event for a payload.
func control(data any) events.Event {
	kind := map[string]events.Kind{
		"*events.StopRequested": events.KindStopRequested, "*events.FailRequested": events.KindFailRequested,
		"*events.RecoverRequested": events.KindRecoverRequested, "*events.RetryRequested": events.KindRetryRequested,
		"*events.RerunRequested": events.KindRerunRequested, "*events.PlanEdited": events.KindPlanEdited,
	}[fmt.Sprintf("%T", data)]
	return events.Event{Kind: kind, Data: data, Control: true}
}

// proves C4
func TestEveryMoveOfTheTableHappens(t *testing.T) {
	missing := map[[2]events.Status]bool{}
	for _, m := range Moves() {
		missing[[2]events.Status{m.From, m.To}] = true
	}
	for seed := uint64(1); seed < 3000 && len(missing) > 0; seed++ {
		w := newSimulation(&dice{t: t, seed: seed << 20}, nil)
		w.oracle = false
		for range 150 {
			w.act()
		}
		for m := range w.moves {
			delete(missing, m)
		}
	}
	for m := range missing {
		t.Errorf("no history leads from %s to %s: take it out of the table", m[0], m[1])
	}
}
