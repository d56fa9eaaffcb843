package loop

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Whatever happens, nothing is acknowledged before its consequences are stored, every accepted job ends, and then nothing of it is
// left in memory.
func TestJobsComeThroughAnyStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var failure any
		synctest.Test(t, func(*testing.T) {
			defer func() { failure = recover() }() // Where rapid does not see it.
			w := &storm{
				t: rt, names: events.NewNames(""), chance: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)), acked: map[uint64]bool{}, last: map[string]uint64{},
				ids: map[string]bool{}, armed: map[string]map[string]time.Time{}, states: map[string]Saved{}, keys: map[string]uint64{},
				plans: map[string]*events.Plan{}, wants: map[string][]graph.Run{}, holds: map[string][]graph.Run{}, called: map[string]bool{},
			}
			defer func() {
				if !w.dead {
					w.crash()
				}
			}()
			window, parallel := rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(rt, "window"), rapid.SampledFrom([]int{1, 3}).Draw(rt, "parallel")
			w.start(window, parallel)
			for range rapid.IntRange(1, 300).Draw(rt, "actions") {
				action := rapid.SampledFrom(actions).Draw(rt, "action")
				switch action {
				case "submit":
					w.submit()
				case "deliver":
					w.deliver(rapid.IntRange(1, 6).Draw(w.t, "most"), true)
				case "steal":
					w.deliver(rapid.IntRange(1, 2).Draw(w.t, "most"), false)
				case "again":
					w.redeliver()
				case "answer", "lose", "refuse":
					w.end(action, rapid.IntRange(0, 1<<10).Draw(w.t, "which"))
				case "answer all":
					for len(w.air) > 0 {
						w.end("answer", 0)
					}
				case "save":
					w.endSave(rapid.SampledFrom([]string{"kept", "kept", "kept", "kept", "lost", "refused"}).Draw(w.t, "outcome"), rapid.IntRange(0, 1<<10).Draw(w.t, "which"))
				case "work":
					w.labour(rapid.IntRange(0, 1<<10).Draw(w.t, "which"))
				case "wait":
					w.wait(time.Duration(rapid.IntRange(1, 300).Draw(w.t, "ms")) * time.Millisecond)
				case "wait long":
					w.wait(time.Duration(rapid.IntRange(1, 20).Draw(w.t, "s")) * time.Second)
				case "early":
					w.fire(func(timer string, _ time.Time) bool { return timer == graph.TurnTimer() })
				case "stop job", "start again":
					w.control(action, rapid.IntRange(0, 1<<10).Draw(w.t, "which"))
				case "stop", "crash":
					if action == "stop" {
						w.stop()
					} else {
						w.crash()
					}
					w.check()
					w.start(window, parallel)
				}
				w.rest()
				w.check()
			}
			// End all failures: everything in progress arrives, and every participant does its part.
			for len(w.air)+len(w.saves) > 0 {
				w.end("answer", 0)
				w.endSave("kept", 0)
				w.rest()
			}
			w.mu.Lock()
			w.calm = true
			w.mu.Unlock()
			quiet := time.Now()
			for range 2000 {
				before := len(w.log)
				w.deliver(100, true)
				w.rest()
				for range len(w.work) {
					w.labour(0)
				}
				pause := time.Second
				if time.Since(quiet) > 30*time.Second {
					w.redeliver()
					pause = 30 * time.Second
				}
				w.wait(pause)
				w.rest()
				if len(w.log) > before || w.read < len(w.log) {
					quiet = time.Now()
				}
				w.check()
				if time.Since(quiet) > 2*lastTurn {
					if list := w.left(); len(list) > 0 {
						w.t.Fatal(strings.Join(list, "; "))
					}
					return
				}
			}
			last := w.log[len(w.log)-1]
			w.t.Fatalf("it does not come to rest: the last of %d events is %s of %s; slots are held %v, wanted %v in the order %v; %s",
				len(w.log), last.Kind, last.Job, w.holds, w.wants, w.line, strings.Join(w.left(), "; "))
		})
		if failure != nil {
			panic(failure)
		}
	})
}

// actions are the possible actions; one that is listed twice is twice as likely.
var actions = []string{
	"submit", "deliver", "deliver", "deliver", "answer", "answer", "answer", "answer", "answer", "answer all", "lose", "refuse",
	"save", "save", "work", "work", "work", "wait", "wait long", "early", "again", "steal", "stop job", "start again", "stop", "crash",
}

// submit submits a job under an unused id.
func (w *storm) submit() {
	id := "j" + strconv.Itoa(rapid.IntRange(0, 7).Draw(w.t, "job"))
	if w.last[w.names.Event(id, events.KindJobRequested)] != 0 {
		return
	}
	rules := events.Rules{
		Version: 1, MaxSteps: 99, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast, Retries: 1,
		RetryDelay: events.Duration(time.Second), RetryDelayMax: events.Duration(time.Minute), Retention: events.Duration(rapid.SampledFrom([]time.Duration{0, 5 * time.Second}).Draw(w.t, "retention")),
	}
	if rapid.IntRange(0, 2).Draw(w.t, "shares slots") == 0 {
		rules.ConcurrencyKey, rules.KeyConcurrency = "key", 2
	}
	plan := &events.Plan{}
	for i := range rapid.IntRange(1, 7).Draw(w.t, "steps") {
		step := events.SubJob{ID: "s" + strconv.Itoa(i), Goal: "g", Expert: "x", Pool: rapid.SampledFrom([]string{"one", "two"}).Draw(w.t, "pool")}
		if before := rapid.IntRange(-2, i-1).Draw(w.t, "behind"); before >= 0 {
			step.Dependencies = []string{"s" + strconv.Itoa(before)}
		}
		plan.SubJobs = append(plan.SubJobs, step)
	}
	w.plans[id] = plan
	session := rapid.SampledFrom([]string{"", "a", "b"}).Draw(w.t, "session")
	w.happen(events.Event{
		Kind: events.KindJobRequested, Job: id,
		Data: &events.JobRequested{Request: events.Request{ID: id, Goal: "g", Session: session, Priority: rapid.IntRange(-1, 1).Draw(w.t, "priority")}, Rules: rules},
	})
}

// deliver delivers the next events of the log, to this scheduler or to another one, which then crashes.
func (w *storm) deliver(most int, here bool) {
	var list []Delivery
	for ; w.read < len(w.log) && most > 0; w.read++ {
		if e := &w.log[w.read]; e.Job != "" {
			list = append(list, w.delivery(e, true))
			most--
		}
	}
	if here && len(list) > 0 {
		w.due = append(w.due, Batch{Deliveries: list})
	}
}

// redeliver delivers again what was not acknowledged.
func (w *storm) redeliver() {
	var list []Delivery
	for i := range w.log[:w.read] {
		if e := &w.log[i]; e.Job != "" && !w.acked[e.Seq] {
			list = append(list, w.delivery(e, false))
		}
	}
	if len(list) > 0 {
		w.due = append(w.due, Batch{Deliveries: list})
	}
}

// end answers a message, which is stored before; or it is, and the answer is lost; or it is not stored.
func (w *storm) end(how string, which int) {
	if len(w.air) == 0 {
		return
	}
	defer w.rest()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.air[which%len(w.air)]
	if how == "refuse" && !f.reached {
		w.answer(f, errAway)
		return
	}
	w.reach(f)
	err := f.err
	if how == "lose" {
		err = store.ErrUnknown
	}
	w.answer(f, err)
}

func (w *storm) endSave(how string, which int) {
	if len(w.saves) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.saves[which%len(w.saves)]
	if how != "refused" {
		w.reach(f)
	}
	err := f.err
	if how != "kept" {
		err = store.ErrUnknown
	}
	w.answer(f, err)
}

// labour does some of the work, once or twice, well or badly.
func (w *storm) labour(which int) {
	if len(w.work) == 0 {
		return
	}
	which %= len(w.work)
	parts := strings.Split(w.work[which], ".")
	w.mu.Lock()
	w.work = slices.Delete(w.work, which, which+1)
	w.mu.Unlock()
	job, subjob := parts[4], parts[5]
	run, _ := strconv.Atoi(parts[6]) // Our own subject.
	e := events.Event{Kind: events.KindSubJobReported, Job: job, SubJob: subjob, Run: run, Data: success}
	switch {
	case subjob == events.PlanID:
		e.Kind, e.Data = events.KindGraphCreated, &events.GraphCreated{Plan: w.plans[job]}
	case !w.calm && w.chance.IntN(4) == 0:
		e.Data = &events.SubJobReported{Outcome: events.ExecutionError, Error: &events.Fault{Code: events.CodeInternal, Message: "no"}}
	}
	if w.last[w.names.Event(job, events.KindJobRequested)] == 0 || w.last[subjectOf(w.names, &e)] != 0 {
		return
	}
	if subjob != events.PlanID {
		w.happen(events.Event{Kind: events.KindSubJobStarted, Job: job, SubJob: subjob, Run: run, Data: &events.SubJobStarted{}})
	}
	w.happen(e)
}

// wait lets time pass, and timers fire.
func (w *storm) wait(d time.Duration) {
	w.mu.Lock() // The scheduler may change what the test has already looked at.
	after := time.After(d)
	w.mu.Unlock()
	<-after
	synctest.Wait()
	w.fire(func(_ string, at time.Time) bool { return !at.After(time.Now()) })
}

// fire has those timers fire that are due; by the server's clock that may be before their time.
func (w *storm) fire(due func(timer string, at time.Time) bool) {
	for _, job := range slices.Sorted(maps.Keys(w.armed)) {
		for _, timer := range slices.Sorted(maps.Keys(w.armed[job])) {
			if at := w.armed[job][timer]; due(timer, at) {
				w.mu.Lock()
				delete(w.armed[job], timer)
				w.mu.Unlock()
				w.happen(events.Event{Kind: events.KindTimerFired, Job: job, Key: timer, Data: &events.TimerFired{Timer: timer, Due: at}})
			}
		}
	}
}

// control stops or resumes a job from outside.
func (w *storm) control(what string, which int) {
	job := "j" + strconv.Itoa(which%8)
	if w.last[w.names.Event(job, events.KindJobRequested)] == 0 {
		return
	}
	e := events.Event{Kind: events.KindStopRequested, Job: job, Control: true, Data: &events.StopRequested{}}
	if what == "start again" {
		e.Kind, e.Data = events.KindRecoverRequested, &events.RecoverRequested{}
	}
	w.happen(e)
}

// check fails if a job would be stuck after a loss of all memory now: its events are acknowledged although it has pending commands
// that are not stored.
func (w *storm) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults > 0 {
		w.t.Fatal("a job was quarantined")
	}
	for i := range 8 {
		job := "j" + strconv.Itoa(i)
		list := w.of(job, 0)
		open := func(e events.Event) bool { return !w.acked[e.Seq] }
		if len(list) == 0 || slices.ContainsFunc(list, open) {
			continue
		}
		state := w.fold(job, list)
		for _, c := range state.Pending() {
			if !w.has(job, &c) {
				w.t.Fatalf("all %d events of %s are acknowledged, and %s %s of run %d %s is not stored", len(list), job, c.Kind, c.SubJob, c.Run, c.Key)
			}
		}
	}
}

func (w *storm) fold(job string, list []events.Event) *graph.Job {
	state, err := graph.Fold(func(yield func(events.Event, error) bool) {
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
	})
	if err != nil {
		w.t.Fatalf("job %s: %v", job, err)
	}
	return state
}

// has reports whether a command was carried out, or will be retried.
func (w *storm) has(job string, c *graph.Command) bool {
	switch c.Kind {
	case graph.RunSubJob:
		_, comes := w.armed[job][graph.TurnTimer()]
		return comes || w.called[job] || w.last[w.names.WorkFor(c.Order.Pool, c.Order.Expert, job, c.SubJob, c.Run)] != 0
	case graph.ArmTimer:
		_, armed := w.armed[job][c.Key]
		return armed
	}
	return false
}

// left returns the jobs that have not ended, and what is left of any job in memory.
func (w *storm) left() (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i := range 8 {
		job := "j" + strconv.Itoa(i)
		told := w.of(job, 0)
		if len(told) == 0 {
			continue
		}
		if s := w.fold(job, told); !s.Status.Terminal() || s.EndOwed {
			say("job %s is %s: %+v", job, s.Status, w.p.cache.jobs[job])
		}
	}
	for i := range w.log {
		if e := &w.log[i]; e.Job != "" && !w.acked[e.Seq] && e.Kind != events.KindJobAdvanced {
			say("%s of %s (%d) is not acknowledged: %+v", e.Kind, e.Job, e.Seq, w.p.cache.jobs[e.Job])
		}
	}
	p := w.p
	if len(p.work.retry)+len(p.saver.queue) > 0 || !p.beside.idle() {
		say("left behind: %d jobs that wait, %d in line, under way %v", len(p.work.retry), len(p.saver.queue), p.beside.underWay)
	}
	for _, j := range p.cache.jobs { // One that was forgotten stays until there are too many.
		if j.state != nil || j.busy() {
			say("job %s is left behind: %+v", j.id, j)
		}
	}
	for _, l := range p.admission.limits {
		if l.queued != 0 || l.queue.Len() != 0 {
			say("pool %s is thought to have %d runs, %d jobs wait for it", l.pool, l.queued, l.queue.Len())
		}
	}
	return list
}

// Claim grants the slots of the only key.
func (w *storm) Claim(_ context.Context, _ string, c *Claim) (Grant, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails() {
		return Grant{}, fmt.Errorf("claim: %w", errAway)
	}
	grant := w.give(c)
	if w.fails() { // It is stored all the same.
		return Grant{}, fmt.Errorf("claim: %w", store.ErrUnknown)
	}
	return grant, nil
}

// give changes the record of the key. The caller holds the lock.
func (w *storm) give(c *Claim) Grant {
	delete(w.called, c.Job)
	w.line = slices.DeleteFunc(w.line, func(job string) bool { return len(w.of(job, 0)) == 0 })
	if !slices.Contains(w.line, c.Job) {
		w.line = append(w.line, c.Job)
	}
	same := func(a graph.Run) func(graph.Run) bool {
		return func(b graph.Run) bool { return a.SubJob == b.SubJob && a.Run == b.Run }
	}
	w.wants[c.Job] = c.Runs
	free := c.Limit
	for _, job := range w.line {
		w.holds[job] = slices.DeleteFunc(w.holds[job], func(r graph.Run) bool { return !slices.ContainsFunc(w.wants[job], same(r)) })
		free -= len(w.holds[job])
	}
	fresh := map[string]bool{}
	for _, job := range w.line {
		for _, r := range w.wants[job] {
			if free <= 0 || slices.ContainsFunc(w.holds[job], same(r)) {
				continue
			}
			w.holds[job] = append(w.holds[job], r)
			free--
			if job != c.Job {
				w.called[job], fresh[job] = true, true
			}
		}
	}
	if c.Fresh {
		maps.Copy(fresh, w.called)
	}
	return Grant{Held: slices.Clone(w.holds[c.Job]), Called: slices.Sorted(maps.Keys(fresh))}
}

// subjectOf returns the subject of an event in the log.
func subjectOf(n events.Names, e *events.Event) string {
	definition, _ := events.Define(e.Kind)
	switch {
	case definition.Control || e.Kind == "":
		return n.Control(e.Job)
	case definition.Run:
		return n.RunEvent(e.Job, e.Kind, e.SubJob, e.Run)
	case e.Key != "":
		return n.Event(e.Job, e.Kind, e.Key)
	}
	return n.Event(e.Job, e.Kind)
}
