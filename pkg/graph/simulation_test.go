package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// simulation is a bus, two schedulers and any number of workers around one job, driven by drawn choices. It keeps the promises of
// the broker (one event per unique subject, an end only if the control subject still ends as expected, claims refused by a closed
// journal) and no others: everything may come late, twice, from a stale scheduler, or not at all.
type simulation struct {
	*dice
	rules events.Rules
	now   time.Time
	log   []events.Event
	// truth has folded the whole log, and is held against the naive oracle after every event.
	truth   *Job
	oracle  bool
	pair    [2]scheduler
	work    map[CommandID]*piece
	subject map[string]bool
	control uint64
	timers  map[string]time.Time
	asked   []string
	moves   map[[2]events.Status]bool // every move that happened
	runs    int
	modes   map[string]events.WorkKind // what each run was for, before the last event
}

// scheduler is one process: a fold of a prefix of the log, and its last save.
type scheduler struct {
	job *Job
	at  int
	// saved is the state after savedAt events; nil before the first save.
	saved   []byte
	savedAt int
}

// piece is one work message and what became of it.
type piece struct {
	order    *Order
	claimed  bool
	lease    time.Time
	ended    bool // by an event on its run's own subject
	closed   bool // in the journal
	closedAt *events.SubJobClosed
}

func newSimulation(d *dice, change func(*events.Rules)) *simulation {
	r := drawRules(d)
	if change != nil {
		change(&r)
	}
	w := &simulation{
		dice: d, rules: r, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), work: map[CommandID]*piece{},
		subject: map[string]bool{}, timers: map[string]time.Time{}, moves: map[[2]events.Status]bool{}, modes: map[string]events.WorkKind{}, oracle: true,
	}
	w.append(events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{Goal: "test"}, Rules: r}})
	return w
}

// append stores an event, applies it to the reference state and checks the invariants that hold after every event.
func (w *simulation) append(e events.Event) {
	w.now = w.now.Add(time.Millisecond)
	e.Job, e.Seq, e.Time = "j", uint64(len(w.log)+1), w.now
	e.ID = fmt.Sprintf("e%d", e.Seq)
	d, _ := events.Define(e.Kind)
	e.Control = e.Control || d.Control
	if e.Control {
		w.control = e.Seq
	}
	w.log = append(w.log, e)
	if w.truth == nil {
		var err error
		if w.truth, err = New(e); err != nil {
			w.t.Fatal(err)
		}
		w.truth.Transitions()
		return
	}
	before := w.statuses()
	for _, n := range w.truth.dag.nodes {
		w.modes[n.ID] = n.Mode
	}
	effect := w.truth.Step(e)
	w.checkStep(e, before, effect)
	if w.oracle {
		w.checkOracle()
	}
}

// once is append for a subject that accepts one event.
func (w *simulation) once(e events.Event) bool {
	subject := fmt.Sprintf("%s/%s/%d/%s", e.Kind, e.SubJob, e.Run, e.Key)
	if w.subject[subject] {
		return false
	}
	w.subject[subject] = true
	w.append(e)
	return true
}

func (w *simulation) statuses() map[string]events.Status {
	all := map[string]events.Status{"": w.truth.Status}
	for _, n := range w.truth.dag.nodes {
		all[n.ID] = n.Status
	}
	return all
}

func (w *simulation) checkStep(e events.Event, before map[string]events.Status, effect Effect) {
	t := w.t
	if effect.Verdict == Poisoned {
		t.Fatalf("event %d was poisoned: %s", e.Seq, effect.Reason)
	}
	if w.truth.Error != nil && w.truth.Error.Code == events.CodeInternal {
		t.Fatalf("the job hangs after event %d (%s)\n%s", e.Seq, e.Kind, w.history())
	}
	if effect.Verdict == Ignored {
		if diff := cmp.Diff(before, w.statuses()); diff != "" {
			t.Fatalf("ignored event %d (%s: %s) changed statuses:\n%s", e.Seq, e.Kind, effect.Reason, diff)
		}
	}
	if before[""].Terminal() && (!e.Control || e.Data == nil) {
		if diff := cmp.Diff(before, w.statuses()); diff != "" {
			t.Fatalf("event %d (%s) changed an ended job:\n%s", e.Seq, e.Kind, diff)
		}
	}
	w.checkMoves(e, before)
	w.checkInvariants(e)
}

// checkMoves holds the transitions of one step against the table: from status to status, on that kind of event.
func (w *simulation) checkMoves(e events.Event, before map[string]events.Status) {
	for _, m := range w.truth.Transitions() {
		from, ok := before[m.SubJob]
		if !ok {
			from = events.Created
		}
		to := transitionTo[m.Transition]
		if m.Transition == "requeued" {
			to = w.requeued(e, m.SubJob)
		}
		w.checkMove(e, m, from, to)
		before[m.SubJob] = to
	}
}

// requeued says where a node went that continues after its own run has ended, or starts again for another reason.
func (w *simulation) requeued(e events.Event, subjob string) events.Status {
	n := w.truth.dag.find(subjob)
	r, reported := e.Data.(*events.SubJobReported)
	switch {
	case e.SubJob != subjob && e.Kind != events.KindTimerFired, reported && r.Outcome == events.InputDataError && n.Attempts == 0:
		return events.Created
	case reported && r.Outcome == events.TooComplicated && !planningMode(w.modes[subjob]), w.rules.RetryDelay == 0:
		return events.Ready
	}
	return events.Waiting
}

func (w *simulation) checkMove(e events.Event, m events.Transition, from, to events.Status) {
	for _, row := range Moves() {
		if row.From == from && row.To == to && slices.Contains(row.On, e.Kind) {
			w.moves[[2]events.Status{from, to}] = true
			return
		}
	}
	w.t.Fatalf("%s of %s from %s to %s on %s is not in the table\n%s", m.Transition, m.SubJob, from, to, e.Kind, w.history())
}

// checkInvariants recounts what the core counts.
func (w *simulation) checkInvariants(e events.Event) {
	j, t := w.truth, w.t
	open, asking, fencing := 0, 0, 0
	for _, n := range j.dag.nodes {
		if !n.step() {
			continue
		}
		unfinished := 0
		for _, at := range n.Deps {
			d := j.dag.nodes[at]
			if n.Status != events.Legacy && d.Status == events.Legacy {
				t.Fatalf("after event %d (%s) %s depends on legacy %s\n%s", e.Seq, e.Kind, n.ID, d.ID, w.history())
			}
			if d.Status != events.Finished {
				unfinished++
			}
		}
		if n.Status != events.Legacy && n.unfinished != unfinished {
			t.Fatalf("after event %d (%s) %s counts %d unfinished predecessors, has %d\n%s", e.Seq, e.Kind, n.ID, n.unfinished, unfinished, w.history())
		}
		if n.Open {
			open++
			if unfinished > 0 || n.Status != events.Ready && n.Status != events.Running {
				t.Fatalf("after event %d (%s) %s is %s with an open run and %d unfinished predecessors\n%s", e.Seq, e.Kind, n.ID, n.Status, unfinished, w.history())
			}
		}
		if n.Request != "" {
			asking++
		}
		if n.Status == events.Created && (n.Closing != 0 || !n.FenceAt.IsZero()) {
			fencing++
		}
	}
	if open != j.runs.open || asking != j.waits.asking || fencing != j.runs.fencing {
		t.Fatalf("after event %d (%s) the job counts %d open, %d asking, %d fencing; there are %d, %d, %d", e.Seq, e.Kind, j.runs.open, j.waits.asking, j.runs.fencing, open, asking, fencing)
	}
	if j.Rules.Concurrency > 0 && open > j.Rules.Concurrency {
		t.Fatalf("%d runs are open, the limit is %d", open, j.Rules.Concurrency)
	}
}

func (w *simulation) history() string {
	var b strings.Builder
	for _, e := range w.log {
		data, _ := json.Marshal(e.Data)
		fmt.Fprintf(&b, "%3d %s %s/%d %s %.400s\n", e.Seq, e.Kind, e.SubJob, e.Run, e.Key, data)
	}
	return b.String()
}

func (w *simulation) entries(upTo int) func(func(events.Event, error) bool) {
	return func(yield func(events.Event, error) bool) {
		for _, e := range w.log[:upTo] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// advance has a scheduler fold the next events, loading or folding its state first when it has none.
func (w *simulation) advance(s *scheduler, most int) {
	if s.job == nil && s.saved == nil {
		job := musttest.Get(Fold(w.entries(1)))(w.t)
		s.job, s.at = job, 1
	} else if s.job == nil {
		s.job, s.at = &Job{}, s.savedAt
		musttest.Decode(w.t, s.saved, s.job)
	}
	for ; most > 0 && s.at < len(w.log); most-- {
		if s.at > 0 && s.job.Step(w.log[s.at-1]).Verdict != Duplicate {
			w.t.Fatal("an event was applied twice")
		}
		s.job.Step(w.log[s.at])
		s.at++
	}
}

// deliver makes a scheduler deliver some of its pending commands.
func (w *simulation) deliver(s *scheduler, most int) {
	for most > 0 {
		commands := s.job.Pending()
		if len(commands) == 0 {
			return
		}
		for i := range commands {
			if most == 0 {
				return
			}
			most--
			if !w.do(s, &commands[i]) {
				s.job = nil // A conflict on the end: what ends is to be decided again.
				return
			}
			s.job.Sent(commands[i].CommandID)
		}
	}
}

func (w *simulation) do(s *scheduler, c *Command) bool {
	switch c.Kind {
	case RunSubJob:
		w.publish(s, c)
	case CloseRun:
		w.close(c)
	case ArmTimer:
		w.timers[c.Key] = c.At
	case CloseInput:
		w.once(events.Event{Kind: c.Fact, Key: c.Key, Data: c.Data})
	case StateFact:
		kind, key, _ := strings.Cut(c.Key, "~")
		data, _ := events.Define(events.Kind(kind))
		payload := data.New()
		musttest.Decode(w.t, c.Data.(json.RawMessage), payload)
		w.once(events.Event{Kind: events.Kind(kind), Key: key, Data: payload})
	case EndJob:
		if c.Expect != w.control {
			return false
		}
		ended := c.Data.(*events.JobEnded)
		if ended.Turn != w.truth.Turn || movedTo(w.truth.Status) != c.Fact {
			w.t.Fatalf("a stale scheduler declared %s of turn %d, the job is %s at turn %d\n%s", c.Fact, ended.Turn, w.truth.Status, w.truth.Turn, w.history())
		}
		if c.PurgeTimers {
			clear(w.timers)
		}
		w.append(events.Event{Kind: c.Fact, Data: ended})
	}
	return true
}

// publish puts a run's work on the queue, once, and checks the results in it.
func (w *simulation) publish(s *scheduler, c *Command) {
	if w.work[c.CommandID] != nil {
		return
	}
	w.runs++
	w.work[c.CommandID] = &piece{order: c.Order, closed: w.subject[fmt.Sprintf("%s/%s/%d/", events.KindSubJobClosed, c.SubJob, c.Run)]}
	for _, in := range c.Order.Inputs {
		d := s.job.dag.find(in.SubJob)
		if d.Status != events.Finished && in.SubJob != c.SubJob { // A stand-in's text goes back to the planner.
			w.t.Fatalf("%s/%d starts while %s is %s\n%s", c.SubJob, c.Run, in.SubJob, d.Status, w.history())
		}
		if in.Skipped {
			continue
		}
		from := w.log[in.Seq-1]
		if in.Spec.Seq != 0 {
			if in.Run != 0 || from.Seq != in.Spec.Seq {
				w.t.Fatalf("given input %+v of %s/%d", in, c.SubJob, c.Run)
			}
			continue
		}
		if r, ok := from.Data.(*events.SubJobReported); !ok || r.Outcome != events.Success || from.SubJob != in.SubJob || from.Run != in.Run {
			w.t.Fatalf("%s/%d gets %+v, which is %s of %s/%d", c.SubJob, c.Run, in, from.Kind, from.SubJob, from.Run)
		}
	}
}

// close appends closed(run) to the journal, purges the work and publishes the fact.
func (w *simulation) close(c *Command) {
	id := CommandID{Kind: RunSubJob, SubJob: c.SubJob, Run: c.Run}
	p := w.work[id]
	if p == nil {
		p = &piece{}
		w.work[id] = p
	}
	if p.closedAt == nil {
		p.closed, p.closedAt = true, &events.SubJobClosed{Claimed: p.claimed, LeaseUntil: p.lease}
	}
	w.once(events.Event{Kind: events.KindSubJobClosed, SubJob: c.SubJob, Run: c.Run, Data: p.closedAt})
}

// claim makes a worker take a piece of work. Two unfenced live runs of one SubJob would show here.
func (w *simulation) claim(id CommandID) bool {
	p := w.work[id]
	if p.closed || p.ended || p.order == nil || p.claimed {
		return p.claimed && !p.closed
	}
	for other, o := range w.work {
		if other.SubJob == id.SubJob && other.Run > id.Run && (o.claimed || o.closed) {
			return false // The journal has a higher run.
		}
		if other.SubJob == id.SubJob && other.Run != id.Run && o.claimed && !o.ended && (!o.closed || w.now.Before(o.lease)) {
			w.t.Fatalf("run %d of %s is claimed while run %d is alive\n%s", id.Run, id.SubJob, other.Run, w.history())
		}
	}
	p.claimed, p.lease = true, w.now.Add(w.rules.Lease.Std())
	return true
}

// end publishes the end of a run on the run's own subject.
func (w *simulation) end(id CommandID, kind events.Kind, data any) {
	p := w.work[id]
	if !p.claimed || p.ended {
		return
	}
	e := events.Event{Kind: kind, SubJob: id.SubJob, Run: id.Run, Data: data}
	p.ended = w.once(e)
}

// pieces lists the work that can still change, in a stable order.
func (w *simulation) pieces() []CommandID {
	var ids []CommandID
	for id, p := range w.work {
		if p.order != nil && !p.ended && (!p.closed || p.claimed) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b CommandID) int {
		return cmpOr(strings.Compare(a.SubJob, b.SubJob), a.Run-b.Run)
	})
	return ids
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// due lists armed timers, the nearest first.
func (w *simulation) due() []string {
	var ids []string
	for id := range w.timers {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmpOr(w.timers[a].Compare(w.timers[b]), strings.Compare(a, b)) })
	return ids
}

func (w *simulation) fire(timer string) {
	w.now = later(w.now, w.timers[timer])
	due := w.timers[timer]
	delete(w.timers, timer)
	w.append(events.Event{Kind: events.KindTimerFired, Key: timer, Data: &events.TimerFired{Timer: timer, Due: due}})
}

// catchUp has both schedulers do all they can.
func (w *simulation) catchUp() {
	for {
		before := len(w.log)
		for i := range w.pair {
			w.advance(&w.pair[i], len(w.log))
			w.deliver(&w.pair[i], 1<<20)
		}
		if len(w.log) == before {
			return
		}
	}
}
