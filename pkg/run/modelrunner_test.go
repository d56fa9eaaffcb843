package run_test

import (
	"encoding/json"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// live returns the steps of a runner that is neither dead nor stopped.
func (w *state) live(i int, name string, try func(string, func(*state) (bool, error))) {
	x := &w.runners[i]
	do := func(what string, f func(*state, *runner) (bool, error)) {
		try(name+" "+what, func(c *state) (bool, error) { return f(c, &c.runners[i]) })
	}
	if w.haps < maxHaps && x.at != idle && x.at != looked {
		do("is stopped", func(c *state, x *runner) (bool, error) { c.haps++; x.stopped = true; return true, nil })
	}
	if x.at == looked {
		do("makes the effect", func(c *state, x *runner) (bool, error) { x.at = executed; return true, c.happens(x) })
	}
	if w.down {
		return
	}
	switch x.at {
	case idle:
		do("reads the journal", func(c *state, _ *runner) (bool, error) { return c.decide(i), nil })
	case decided:
		do("claims", func(c *state, _ *runner) (bool, error) { return true, c.claim(i) })
	case claimed_:
		do("goes on", func(c *state, _ *runner) (bool, error) { return true, c.begin(i) })
	case intended:
		do("looks at its claim", func(c *state, _ *runner) (bool, error) { return true, c.look(i) })
		if w.haps < maxHaps {
			do("is turned away", func(c *state, _ *runner) (bool, error) { c.haps++; return true, c.turnAway(i) })
		}
	case executed:
		do("stores the result", func(c *state, x *runner) (bool, error) {
			if c.append(i, run.Made(x.order.run, c.owner(i), c.m.effect(), json.RawMessage(`1`), nil)) {
				x.at = finished
				c.truthOf(x.intent).over = true
			}
			return true, nil
		})
	case finished:
		do("ends", func(c *state, _ *runner) (bool, error) { c.end(i, events.Success); return true, nil })
		if w.haps < maxHaps {
			do("asks something else", func(c *state, _ *runner) (bool, error) { c.haps++; c.ask(i, nil); return true, nil })
		}
	case reported_:
		do("publishes", func(c *state, x *runner) (bool, error) {
			if a := c.journal().Admit(x.order.run, run.Claimant{}); a.Report != nil {
				c.publish(x.order.run, a.Report)
			}
			c.leave(i)
			return true, nil
		})
	}
}

// decide reads the journal on behalf of a work message.
func (w *state) decide(i int) bool {
	x := &w.runners[i]
	if w.parked {
		return false // It may hold the work of a run that is closed.
	}
	c := run.Claimant{Owner: w.owner(i), Now: w.at(w.now), Since: w.at(x.since)}
	switch w.m.off {
	case offLease:
		c.Now = w.at(w.now + 100)
	case offSince:
		c.Since = w.at(0)
	}
	j := w.journal()
	a := j.Admit(w.current.run, c)
	if a.Action == run.Drop && w.m.off == offClosed {
		a = run.Admission{Action: run.Claim, Expect: j.Last()}
	}
	switch a.Action {
	case run.Claim:
		x.at, x.order, x.n, x.last = decided, w.current, len(w.entries), a.Expect
		return true
	case run.Replay:
		w.publish(w.current.run, a.Report)
		return true
	}
	return false
}

// claim stores the claim if the journal still ends where it was read.
func (w *state) claim(i int) error {
	x := &w.runners[i]
	j := w.journal()
	if j.Last() != x.last && w.m.off != offExpect {
		w.leave(i)
		return nil
	}
	if j.IsClosed(x.order.run) {
		return &violation{noClosedHeld, w.owner(i) + " claims"}
	}
	for k := range w.runners {
		if y := &w.runners[k]; k != i && w.holds(k) && !y.stopped && !y.lapsed && y.order.run == x.order.run && j.Holds(y.order.run, w.owner(k)) {
			return &violation{noneTaken, w.owner(i) + " takes the run of " + w.owner(k)}
		}
	}
	known := w.effects(x)
	first, announced := known.Announces(w.m.first())
	x.at, x.last = claimed_, w.store(run.Claimed(x.order.run, w.owner(i), leaseLong*tick, x.order.resumes, first))
	if announced {
		x.at, x.intent = intended, x.last
		w.truth = append(w.truth, truth{seq: x.intent, run: x.order.run})
	}
	return nil
}

// begin does what is left to do between the claim and the effect: one record, or the run's end.
func (w *state) begin(i int) error {
	x := &w.runners[i]
	known := w.effects(x)
	if x.settled < len(known.Settled) {
		r := known.Settled[x.settled]
		r.Owner = w.owner(i)
		x.settled++
		w.append(i, r)
		return nil
	}
	if known.Failed != nil {
		w.end(i, events.ExecutionError)
		return nil
	}
	if len(known.Unresolved) > 0 {
		return w.ask(i, known.Unresolved)
	}
	switch use, _ := known.Begin(w.m.effect()); use {
	case run.Recall:
		w.end(i, events.Success)
	case run.Adopt:
		if w.append(i, run.Made(x.order.run, w.owner(i), w.m.effect(), json.RawMessage(`1`), nil)) {
			x.at = finished
		}
	default:
		if !w.append(i, run.Intends(x.order.run, w.owner(i), w.m.effect())) {
			return nil
		}
		// A program checks its claim before it starts. Any other effect begins after the append, which is a check as well.
		x.at, x.intent, x.seen = looked, x.last, len(w.entries)
		if w.m.announces {
			x.at = intended
		}
		w.truth = append(w.truth, truth{seq: x.intent, run: x.order.run})
		w.fresh(i)
	}
	return nil
}

// ask ends a run with a question: about unknown outcomes, or about something else.
func (w *state) ask(i int, unknown []run.Unresolved) error {
	x := &w.runners[i]
	var body struct {
		Effects []uint64 `json:"effects"`
	}
	for _, u := range unknown {
		body.Effects = append(body.Effects, u.Seq)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if !w.append(i, run.Reported(x.order.run, w.owner(i), events.KindInputRequested, data)) {
		return nil
	}
	x.at = reported_
	for _, seq := range body.Effects {
		t := w.truthOf(seq)
		if t.over || t.idle || slices.ContainsFunc(w.entries, func(e run.Entry) bool { return e.Decides == seq }) {
			return &violation{noneAsked, w.owner(i) + " asks"}
		}
	}
	return nil
}

// end ends a run with a report.
func (w *state) end(i int, outcome events.Outcome) {
	x := &w.runners[i]
	data, err := json.Marshal(map[string]any{"outcome": outcome, "error": map[string]string{"code": string(events.CodeExecution)}})
	if err != nil {
		panic(err) // It can always be encoded.
	}
	if w.append(i, run.Reported(x.order.run, w.owner(i), events.KindSubJobReported, data)) {
		x.at = reported_
	}
}

// look is the last check of the claim before a program starts.
func (w *state) look(i int) error {
	x := &w.runners[i]
	if !w.journal().Holds(x.order.run, w.owner(i)) && w.m.off != offLook {
		w.leave(i)
		return nil
	}
	x.at, x.seen = looked, len(w.entries)
	w.fresh(i)
	return nil
}

// turnAway ends a run before its effect has begun, and releases the claim.
func (w *state) turnAway(i int) error {
	x := &w.runners[i]
	number, owner, intent := x.order.run, w.owner(i), x.intent
	if w.m.off != offNotBegun && !w.append(i, run.NotBegun(number, owner, w.m.effect())) {
		return nil
	}
	if w.append(i, run.Released(number, owner)) {
		w.truthOf(intent).idle = true
		w.leave(i)
	}
	return nil
}

// renew extends the claim. Of consecutive renewals the model keeps only the last, or it would never end.
func (w *state) renew(i int) {
	x := &w.runners[i]
	last := len(w.entries) - 1
	if e := &w.entries[last]; e.Type == events.JournalRenewed && e.Owner == w.owner(i) && e.Seq == x.last && e.Lease > 0 {
		w.entries = slices.Clone(w.entries[:last])
		for k := range w.runners {
			w.runners[k].seen = min(w.runners[k].seen, last)
		}
	}
	if w.append(i, run.Renewed(x.order.run, w.owner(i), leaseLong*tick)) {
		x.lapsed = false
	}
}

// happens makes the effect and checks what must be true at that time.
func (w *state) happens(x *runner) error {
	lineage := map[int]bool{}
	for number := x.order.run; number > 0; number = w.of[number] {
		lineage[number] = true
	}
	for i := range w.truth {
		t := &w.truth[i]
		switch {
		case t.made && (t.seq == x.intent || !t.over && !t.decided):
			return &violation{noneTwice, "it has happened before"}
		case t.made && t.over && lineage[t.run], t.declared > 0 && lineage[t.declared]:
			return &violation{noneAgain, "its result is known"}
		}
	}
	for _, e := range w.entries[:x.seen] {
		if e.Type == events.JournalClosed && e.Run >= x.order.run {
			return &violation{noneClosed, "the run was closed"}
		}
	}
	w.truthOf(x.intent).made = true
	return nil
}
