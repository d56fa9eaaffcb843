package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// The model: two runners, the scheduler, a person and a bus that stalls, around one SubJob with one effect that must not be
// repeated unseen. Each action of one of them is one step; the checker takes every possible step from every state. Their decisions
// are those of package run, made on the journal; truth records beside it what really happened.

// Bounds of the exploration. They cover every kind of history that has ever gone wrong: a death in each of two runs, a stop, a
// close, a stall.
const (
	maxRuns   = 3
	maxHaps   = 2 // Deaths, stops, stalls, closes, released runs and questions about something else, taken together.
	leaseLong = 2 // In ticks: a claim that is renewed in each tick never lapses.
)

const tick = time.Second

// stage is where a runner is in its run.
type stage byte

const (
	idle      stage = iota
	decided         // It has decided, having read the journal up to record n.
	claimed_        // Its claim is stored.
	intended        // The intent is stored.
	looked          // It has checked its claim.
	executed        // The effect has taken place.
	finished        // Its result is stored.
	reported_       // The end of the run is stored.
)

// order is a work message.
type order struct {
	run, resumes int
	// answers are the person's answers, by the run that asked; empty for none.
	answers [maxRuns + 1]string
}

// runner is one of the two.
type runner struct {
	at      stage
	stopped bool
	lapsed  bool // Its lease has passed once, although the bus was reachable.
	life    int  // Counts its processes, each of which has a separate name.
	order   order
	n       int    // How many records it had read when it decided.
	last    uint64 // The sequence that its next append expects.
	settled int    // How many of its decision's records are stored.
	intent  uint64 // The sequence of its intent.
	seen    int    // How many records the journal had when it checked.
	since   int    // The time since which it knows the bus to be reachable.
}

// truth is what really happened to one intent.
type truth struct {
	seq  uint64
	run  int
	made bool // The effect has taken place.
	over bool // Its end is journaled by the runner that made it.
	idle bool // It was never begun, and the runner that intended it knows.
	// decided is true once the person has decided about it; declared is the run that received the declared result, 0 for none.
	decided  bool
	declared int
}

// state is one state of the model.
type state struct {
	m       *model
	entries []run.Entry
	seq     uint64
	now     int
	down    bool
	since   int // When the bus came back.
	runners [2]runner
	truth   []truth

	current order
	of      [maxRuns + 1]int // The run that each one continues.
	done    bool
	asked   []uint64 // The intents of the open question; nil for a question about something else.
	parked  bool     // The current run waits for the person.
	closing bool     // The current run is closed, and the next one is not issued yet; free is when it may be.
	free    int

	haps int
}

// model is the variant to explore: the kind of the expert, and the safety that is switched off.
type model struct {
	announces bool // The claim announces the effect, as for a command; otherwise the intent is a separate record.
	runs      int  // How many runs there may be, up to maxRuns.
	off       string
}

// violation is a broken property.
type violation struct{ property, how string }

func (v *violation) Error() string { return v.property + ": " + v.how }

// The properties.
const (
	noneTwice    = "no effect that must not be repeated happens twice without a decision that names its intent"
	noneAgain    = "no finished effect is repeated"
	noneClosed   = "nothing begins after a readable close"
	noneAsked    = "no question about an effect whose end is journaled or that provably never began"
	noneTaken    = "a live claim is never taken over"
	noClosedHeld = "a closed run is never claimed"
)

func (m *model) effect() run.Effect {
	if m.announces {
		return run.Effect{Key: run.Command, Name: run.Command}
	}
	return run.Effect{Key: "tool/1/0", Name: "pay", Args: json.RawMessage(`{"to":"ann"}`)}
}

func (m *model) first() run.Effect {
	if m.announces {
		return m.effect()
	}
	return run.Effect{}
}

func newState(m *model) *state { return &state{m: m, current: order{run: 1}} }

func (w *state) clone() *state {
	c := *w
	c.entries = w.entries[:len(w.entries):len(w.entries)]
	c.truth = slices.Clone(w.truth)
	return &c
}

func (w *state) owner(i int) string { return fmt.Sprintf("%c%d", 'a'+i, w.runners[i].life) }

func (w *state) at(t int) time.Time { return time.Unix(0, 0).Add(time.Duration(t) * tick) }

func (w *state) journal() *run.Journal { return run.Read(w.entries) }

// store appends a record without looking at what others have written.
func (w *state) store(r events.JournalRecord) uint64 {
	w.seq++
	w.entries = append(w.entries, run.Entry{JournalRecord: r, Seq: w.seq, Time: w.at(w.now)})
	return w.seq
}

// append is an append of a runner: it expects the previous record, and reads the journal if that is not the last one.
func (w *state) append(i int, r events.JournalRecord) bool {
	x := &w.runners[i]
	if x.last != w.seq && w.m.off != offFence && !w.journal().Holds(x.order.run, w.owner(i)) {
		w.leave(i)
		return false
	}
	x.last = w.store(r)
	return true
}

// leave makes a runner give up its work.
func (w *state) leave(i int) {
	x := &w.runners[i]
	*x = runner{life: x.life, since: x.since}
}

func (w *state) truthOf(seq uint64) *truth {
	for i := range w.truth {
		if w.truth[i].seq == seq {
			return &w.truth[i]
		}
	}
	return nil
}

// effects returns what a runner knows about effects from what it has read.
func (w *state) effects(x *runner) run.Effects {
	resumes := x.order.resumes
	if w.m.off == offLineage {
		resumes = 0
	}
	known := run.Read(w.entries[:x.n]).Effects(x.order.run, resumes)
	w.m.forget(&known, w.entries[:x.n])
	answers := map[string]events.InputClosed{}
	for asker, choice := range x.order.answers {
		if choice != "" {
			answer, _ := json.Marshal(choice)
			answers[run.UnknownRequest("s", asker)] = events.InputClosed{Action: events.Answered, Answer: answer}
		}
	}
	if asker := x.order.resumes; w.m.off == offCovers && x.order.answers[asker] == run.Retry {
		known.Settle(slices.Repeat([]run.Resolution{{State: run.NotDone}}, len(known.Unresolved)))
	}
	known.Answer("s", answers)
	return known
}

// step is a transition to a successor of a state.
type step struct {
	name string
	to   *state
	err  error
}

// steps returns everything that can happen next.
func (w *state) steps() []step {
	var list []step
	try := func(name string, do func(*state) (bool, error)) {
		c := w.clone()
		if happened, err := do(c); happened || err != nil {
			list = append(list, step{name, c, err})
		}
	}
	if w.done {
		return nil
	}
	for i := range w.runners {
		w.process(i, try)
	}
	if !w.down {
		w.sudden(try)
	}
	if w.down {
		try("the bus is back", (*state).returns)
	} else {
		w.outside(try)
	}
	try("time passes", (*state).pass)
	return list
}

// process returns the steps of a runner's process.
func (w *state) process(i int, try func(string, func(*state) (bool, error))) {
	x, name := &w.runners[i], w.owner(i)
	if x.stopped {
		try(name+" goes on", func(c *state) (bool, error) { c.runners[i].stopped = false; return true, nil })
	} else {
		w.live(i, name, try)
	}
	if x.at != idle && w.haps < maxHaps { // A process that has ended is idle until it starts again.
		try(name+" dies", func(c *state) (bool, error) {
			c.haps++
			c.runners[i] = runner{life: x.life + 1, since: c.now}
			return true, nil
		})
	}
}

func (w *state) returns() (bool, error) {
	w.down, w.since = false, w.now
	for i := range w.runners {
		w.runners[i].since = max(w.runners[i].since, w.now)
	}
	return true, nil
}

// pass lets time go on. Working runners renew their claims in time if they can. Less than a lease passes between a runner's last
// check of its claim and the start of its effect, which is no time here: no journal can protect against a process that is suspended
// right there.
func (w *state) pass() (bool, error) {
	for i := range w.runners {
		if w.runners[i].at == looked {
			return false, nil
		}
	}
	for i := range w.runners {
		if w.holds(i) && !w.runners[i].stopped && !w.down {
			w.renew(i)
		}
	}
	w.now++
	for i := range w.runners {
		if w.holds(i) && !w.down && w.now >= (max(w.renewed(i), w.since)+leaseLong) {
			w.runners[i].lapsed = true
		}
	}
	return true, nil
}

// holds reports whether a runner is at work behind a claim, as far as it knows.
func (w *state) holds(i int) bool { return w.runners[i].at >= claimed_ }

// renewed returns when a runner last claimed or renewed.
func (w *state) renewed(i int) (at int) {
	for k := range w.entries {
		if e := &w.entries[k]; e.Owner == w.owner(i) && e.Lease > 0 {
			at = int(e.Time.Sub(w.at(0)) / tick)
		}
	}
	return at
}

// fresh ensures that a runner that begins an effect has a lease that others must wait for.
func (w *state) fresh(i int) {
	if w.m.off != offFresh && w.now >= w.renewed(i)+leaseLong {
		w.renew(i)
	}
}

// sudden adds the steps that can occur at any time: the bus stalls, the scheduler closes the run.
func (w *state) sudden(try func(string, func(*state) (bool, error))) {
	if w.haps < maxHaps {
		try("the bus stalls", func(c *state) (bool, error) { c.haps++; c.down = true; return true, nil })
	}
	if w.haps >= maxHaps || w.parked || w.closing {
		return
	}
	try("the scheduler closes the run", func(c *state) (bool, error) {
		c.haps++
		j := c.journal()
		if until, held := j.Held(c.current.run); held {
			c.free = int(until.Sub(c.at(0)) / tick)
		}
		if !j.IsClosed(c.current.run) {
			c.store(run.Closed(c.current.run, "too long"))
		}
		c.closing = true
		return true, nil
	})
}

// outside adds the other steps of the scheduler and the person.
func (w *state) outside(try func(string, func(*state) (bool, error))) {
	if w.closing && w.now >= w.free {
		try("the scheduler issues the next run", func(c *state) (bool, error) { c.issue(order{}); return true, nil })
	}
	if !w.parked {
		return
	}
	choices := []string{run.Retry, run.Success, run.Fail}
	if w.asked == nil {
		choices = choices[:1]
	}
	for _, choice := range choices {
		try("the person says "+choice, func(c *state) (bool, error) { c.answer(choice); return true, nil })
	}
}

// issue begins the next run, or ends the model after enough runs.
func (w *state) issue(next order) {
	next.run = w.current.run + 1
	w.parked, w.closing, w.asked, w.free = false, false, nil, 0
	if next.run > w.m.runs {
		w.done = true
		return
	}
	w.current = next
	w.of[next.run] = next.resumes
}

// answer applies the person's answer: the next run continues the work.
func (w *state) answer(choice string) {
	next := order{resumes: w.current.run, answers: w.current.answers}
	for _, seq := range w.asked {
		t := w.truthOf(seq)
		t.decided = true
		if choice == run.Success {
			t.declared = w.current.run + 1
		}
	}
	if w.asked != nil {
		next.answers[w.current.run] = choice
	}
	w.issue(next)
}

// publish publishes the end of a run as its journal has it. The first end of the current run counts.
func (w *state) publish(run int, r *events.JournalRecord) {
	if run != w.current.run || w.parked || w.closing {
		return
	}
	var end struct {
		Effects []uint64       `json:"effects"`
		Outcome events.Outcome `json:"outcome"`
	}
	if err := json.Unmarshal(r.Data, &end); err != nil {
		panic(err) // The model has written it.
	}
	switch {
	case events.Kind(r.Name) == events.KindInputRequested:
		w.parked, w.asked = true, end.Effects
	case end.Outcome == events.Success:
		w.done = true
	default:
		w.issue(order{})
	}
}
