package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// engine drives a job by hand: it plays log, clock, planner and workers.
type engine struct {
	t      *testing.T
	job    *Job
	log    []events.Event
	seq    uint64
	now    time.Time
	orders map[string]*Order // open work by "<subjob>/<run>"
	timers map[string]time.Time
	issued []string // every run ever issued, in order
	closes int
	ends   []events.JobEnded
	kinds  map[uint64]events.Kind
	moves  []events.Transition
	lease  time.Time // that of every claim, 30 s from now when zero
}

func rules() events.Rules {
	return events.Rules{
		Version: 1, MaxSteps: 1000, MaxPlanRounds: 3, LifeCycle: 3, Retries: 3, InputRounds: 2,
		RetryDelay: events.Duration(time.Second), RetryDelayMax: events.Duration(time.Minute), FailurePolicy: events.FailFast,
		Finalize: "tails", Lease: events.Duration(30 * time.Second), LeaseMargin: events.Duration(5 * time.Second),
	}
}

func start(t *testing.T, change func(*events.Rules)) *engine {
	t.Helper()
	return startAfter(t, 0, change)
}

// startAfter is start in a log that has other events already, up to a sequence.
func startAfter(t *testing.T, seq uint64, change func(*events.Rules)) *engine {
	t.Helper()
	r := rules()
	if change != nil {
		change(&r)
	}
	g := &engine{t: t, seq: seq, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), orders: map[string]*Order{}, timers: map[string]time.Time{}, kinds: map[uint64]events.Kind{}}
	e := g.event(events.KindJobRequested, "", 0, "", &events.JobRequested{Request: events.Request{Goal: "test"}, Rules: r})
	job := musttest.Get(New(e))(t)
	g.job = job
	g.log = append(g.log, e)
	g.deliver()
	t.Cleanup(g.check)
	return g
}

func (g *engine) event(k events.Kind, subjob string, run int, key string, data any) events.Event {
	g.seq++
	g.now = g.now.Add(time.Millisecond)
	g.kinds[g.seq] = k
	d, _ := events.Define(k)
	return events.Event{Kind: k, Control: d.Control, ID: fmt.Sprintf("e%d", g.seq), Job: "j", SubJob: subjob, Run: run, Key: key, Seq: g.seq, Time: g.now, Data: data}
}

// tell appends an event to the log and delivers the commands that become pending.
func (g *engine) tell(k events.Kind, subjob string, run int, key string, data any) Effect {
	e := g.event(k, subjob, run, key, data)
	g.log = append(g.log, e)
	effect := g.job.Step(e)
	g.moves = append(g.moves, g.job.Transitions()...)
	g.deliver()
	return effect
}

// deliver handles commands like the scheduler's shell.
func (g *engine) deliver() {
	for range 100 {
		commands := g.job.Pending()
		if len(commands) == 0 {
			return
		}
		var replies []func()
		for _, c := range commands {
			g.do(c, &replies)
			g.job.Sent(c.CommandID)
		}
		for _, reply := range replies {
			reply()
		}
	}
	g.t.Fatal("Pending never becomes empty")
}

// last returns the sequence of the last event of a kind.
func (g *engine) last(k events.Kind) (seq uint64) {
	for i := range g.log {
		if g.log[i].Kind == k {
			seq = g.log[i].Seq
		}
	}
	return seq
}

func (g *engine) back(k events.Kind, subjob string, run int, key string, data any) {
	e := g.event(k, subjob, run, key, data)
	g.log = append(g.log, e)
	g.job.Step(e)
	g.moves = append(g.moves, g.job.Transitions()...)
}

func (g *engine) do(c Command, replies *[]func()) {
	switch c.Kind {
	case RunSubJob:
		id := fmt.Sprintf("%s/%d", c.SubJob, c.Run)
		if slices.Contains(g.issued, id) {
			g.t.Errorf("run %s was issued twice", id)
		}
		g.issued = append(g.issued, id)
		g.orders[id] = c.Order
	case CloseRun:
		g.closes++
		id := fmt.Sprintf("%s/%d", c.SubJob, c.Run)
		claimed := g.orders[id] == nil
		delete(g.orders, id)
		*replies = append(*replies, func() {
			lease := g.lease
			if lease.IsZero() {
				lease = g.now.Add(30 * time.Second)
			}
			g.back(events.KindSubJobClosed, c.SubJob, c.Run, "", &events.SubJobClosed{Claimed: claimed, LeaseUntil: lease})
		})
	case ArmTimer:
		g.timers[c.Key] = c.At
	case CloseInput:
		*replies = append(*replies, func() { g.back(c.Fact, "", 0, c.Key, c.Data) })
	case StateFact:
		kind, key, _ := bytes.Cut([]byte(c.Key), []byte("~"))
		definition, _ := events.Define(events.Kind(kind))
		data := definition.New()
		musttest.Decode(g.t, c.Data.(json.RawMessage), data)
		*replies = append(*replies, func() { g.back(events.Kind(kind), "", 0, string(key), data) })
	case EndJob:
		ended := c.Data.(*events.JobEnded)
		g.ends = append(g.ends, *ended)
		*replies = append(*replies, func() { g.back(c.Fact, "", 0, "", ended) })
	}
}

// plan answers the open planning run of a node.
func (g *engine) plan(subjob string, subs ...events.SubJob) Effect {
	return g.tell(events.KindGraphCreated, subjob, g.take(subjob), "", &events.GraphCreated{Plan: &events.Plan{SubJobs: subs}})
}

func (g *engine) take(subjob string) int {
	g.t.Helper()
	for id := range g.orders {
		if name, run, _ := bytes.Cut([]byte(id), []byte("/")); string(name) == subjob {
			n := 0
			fmt.Sscan(string(run), &n)
			delete(g.orders, id)
			return n
		}
	}
	g.t.Fatalf("no open work for %s; open: %v; issued: %v", subjob, g.open(), g.issued)
	return 0
}

func (g *engine) report(subjob string, r events.SubJobReported) Effect {
	g.t.Helper()
	return g.tell(events.KindSubJobReported, subjob, g.take(subjob), "", &r)
}

func (g *engine) succeed(subjobs ...string) {
	g.t.Helper()
	for _, s := range subjobs {
		g.report(s, events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"` + s + `"`)})
	}
}

func (g *engine) outcome(subjob string, o events.Outcome, lesson string) {
	g.t.Helper()
	g.report(subjob, events.SubJobReported{Outcome: o, Lesson: lesson})
}

// pass advances the clock and fires due timers, in order.
func (g *engine) pass(d time.Duration) {
	end := g.now.Add(d)
	for {
		next, at := "", time.Time{}
		for id, t := range g.timers {
			if !t.After(end) && (next == "" || t.Before(at) || t.Equal(at) && id < next) {
				next, at = id, t
			}
		}
		if next == "" {
			break
		}
		delete(g.timers, next)
		g.now = later(g.now, at)
		g.tell(events.KindTimerFired, "", 0, next, &events.TimerFired{Timer: next, Due: at})
	}
	g.now = later(g.now, end)
}

func (g *engine) open() []string {
	var ids []string
	for id := range g.orders {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (g *engine) wantOpen(ids ...string) {
	g.t.Helper()
	slices.Sort(ids)
	if diff := cmp.Diff(ids, g.open()); diff != "" {
		g.t.Fatalf("open work (-want +got):\n%s", diff)
	}
}

func (g *engine) wantStatus(want events.Status) {
	g.t.Helper()
	if g.job.Status != want {
		g.t.Fatalf("job is %s, want %s (error %v)", g.job.Status, want, g.job.State.Error)
	}
}

func (g *engine) status(id string) events.Status { return g.job.dag.find(id).Status }

func (g *engine) wantNodes(want map[string]events.Status) {
	g.t.Helper()
	got := map[string]events.Status{}
	for id := range want {
		got[id] = g.status(id)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Fatalf("statuses (-want +got):\n%s", diff)
	}
}

// check runs at the end of every test: folding the log gives the same bytes, a reloaded state has the same commands pending as a
// cold one, and every transition is in the table of legal moves.
func (g *engine) check() {
	saved := musttest.JSON(g.t, g.job)
	folded := musttest.Get(Fold(func(yield func(events.Event, error) bool) {
		for _, e := range g.log {
			if !yield(e, nil) {
				return
			}
		}
	}))(g.t)
	if again := musttest.JSON(g.t, folded); !bytes.Equal(saved, again) {
		g.t.Errorf("fold differs from the state that was stepped:\n%s", cmp.Diff(string(saved), string(again)))
	}
	var loaded Job
	musttest.Decode(g.t, saved, &loaded)
	if again := musttest.JSON(g.t, &loaded); !bytes.Equal(saved, again) {
		g.t.Errorf("saved form is not stable:\n%s", cmp.Diff(string(saved), string(again)))
	}
	if diff := cmp.Diff(owed(folded), owed(&loaded)); diff != "" {
		g.t.Errorf("a folded and a loaded job owe different commands (-folded +loaded):\n%s", diff)
	}
	g.checkMoves()
}

// owed lists everything that a process which has delivered nothing owes.
func owed(j *Job) []string {
	var all []string
	for {
		commands := j.Pending()
		if len(commands) == 0 {
			slices.Sort(all)
			return all
		}
		for _, c := range commands {
			data, _ := json.Marshal(c)
			all = append(all, string(data))
			j.Sent(c.CommandID)
		}
	}
}

var transitionTo = map[string]events.Status{
	"ready": events.Ready, "running": events.Running, "completed": events.Finished,
	"skipped": events.Finished, "failed": events.Failed, "stopped": events.Stopped, "waiting": events.Waiting, "replaced": events.Legacy,
}

// checkMoves replays the transitions of the test against the table: each must be legal from where its SubJob stood, on the
// kind of event that caused it.
func (g *engine) checkMoves() {
	at := map[string]events.Status{}
	for _, m := range g.moves {
		from, ok := at[m.SubJob]
		if !ok {
			from = events.Created
		}
		to := transitionTo[m.Transition]
		legalOn := false
		for _, row := range Moves() {
			if row.From == from && (to == "" && (row.To == events.Created || row.To == events.Waiting || row.To == events.Ready) || row.To == to) && slices.Contains(row.On, g.kinds[m.Cause]) {
				legalOn = true
				to = row.To
				break
			}
		}
		if !legalOn {
			g.t.Errorf("transition %q of %s from %s on %s is not in the table", m.Transition, m.SubJob, from, g.kinds[m.Cause])
		}
		if m.Transition == "requeued" {
			delete(at, m.SubJob)
			if to != events.Created {
				at[m.SubJob] = to
			}
			continue
		}
		at[m.SubJob] = to
	}
}

func sub(id string, deps ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: "do " + id, Expert: "x", Dependencies: deps}
}
