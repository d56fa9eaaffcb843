package graph

import (
	"encoding/json"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// outbox is what a job may have pending: nodes with commands, and facts that were not read back yet. It alone writes State.Facts.
type outbox struct {
	job *State
	// attention lists the nodes that may have a command pending.
	attention []int32
	// sent is what this process has delivered for the job as a whole: the epoch of the deadline; the turns of end, reap timer and
	// reaping; and which of Facts.
	sent struct {
		deadline, end, reap, reaped int
		facts                       []bool
	}
}

// attend puts a node on the list of those that may have a command pending.
func (o *outbox) attend(n *node) {
	if !n.attention {
		n.attention = true
		o.attention = append(o.attention, n.at)
	}
}

func (o *outbox) sentFact(id CommandID) {
	for i, f := range o.job.Facts {
		if factID(f) == id {
			o.sent.facts[i] = true
		}
	}
}

// add records a fact until it is read back.
func (o *outbox) add(kind events.Kind, key string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic("encode " + string(kind) + ": " + err.Error())
	}
	o.job.Facts = append(o.job.Facts, Fact{Kind: kind, Key: key, Data: raw})
	o.sent.facts = append(o.sent.facts, false)
}

// discharge removes a fact that was read back.
func (o *outbox) discharge(kind events.Kind, key string) {
	for i, f := range o.job.Facts {
		if f.Kind == kind && f.Key == key {
			o.job.Facts = slices.Delete(o.job.Facts, i, i+1)
			o.sent.facts = slices.Delete(o.sent.facts, i, i+1)
			return
		}
	}
}

// repeat causes every fact to be delivered again.
func (o *outbox) repeat() { clear(o.sent.facts) }

// facts appends the facts that are not delivered yet.
func (o *outbox) facts(out []Command) []Command {
	for i, f := range o.job.Facts {
		if !o.sent.facts[i] {
			out = append(out, Command{CommandID: factID(f), Fact: f.Kind, Data: f.Data})
		}
	}
	return out
}

func factID(f Fact) CommandID { return CommandID{Kind: StateFact, Key: string(f.Kind) + "~" + f.Key} }

// restore marks the facts of a saved state as not delivered.
func (o *outbox) restore() { o.sent.facts = make([]bool, len(o.job.Facts)) }
