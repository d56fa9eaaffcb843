package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Effects is what a run must know about earlier effects: the finished ones, and those with an unknown outcome. It belongs
// to one goroutine.
type Effects struct {
	// Run is the run that needs the effects.
	Run int
	// Finished are the results of effects of the run and of those it continues, by key.
	Finished map[string]events.JournalRecord
	// Begun is when the run, or one that it continues, first recorded the intent of an effect, by key and the broker's
	// clock.
	Begun map[string]time.Time
	// Declared are results that were declared for effects of other runs; they answer the same calls in this one.
	Declared []Declared
	// Unresolved are the effects with an unknown outcome: the run must ask about each before it continues.
	Unresolved []Unresolved
	// Undecided lists the messages of hooks that could not decide.
	Undecided []string
	// Settled are the records that resolve unknown outcomes, to be appended after the claim, so that no question is repeated.
	Settled []events.JournalRecord
	// Failed is set if the run must end because one of its effects is declared failed.
	Failed *FailedEffect

	// asked holds, per run, the sequence of its question about unknown outcomes.
	asked map[int]uint64
}

// Unresolved is an effect with an unknown outcome: an intent without a result that must not be repeated without a decision.
type Unresolved struct {
	// Intent is its record in the journal. A claim that announces its effect has no arguments.
	Intent events.JournalRecord
	// Seq is the intent's sequence in the journal, and its identity: a decision names it.
	Seq uint64
	// Stray is true if this run does not continue the run that began it: that one was stopped, or took too long.
	Stray bool
}

// Declared is a declared result of a stray effect: it answers the same call with the same arguments.
type Declared struct {
	// Name and Args are the call, Record its result.
	Name   string
	Args   json.RawMessage
	Record events.JournalRecord
}

// FailedEffect is an effect that is declared failed.
type FailedEffect struct {
	// Name is the name of the effect; Reason says why, or who declared it failed.
	Name, Reason string
}

// answers reports whether the result belongs to a call.
func (d *Declared) answers(name string, args json.RawMessage) bool {
	return d.Name == name && bytes.Equal(compacted(d.Args), compacted(args))
}

func compacted(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Use is how a run obtains the result of an effect.
type Use string

// The ways to obtain a result.
const (
	Make   Use = "make"   // Make the effect, after its intent is stored.
	Recall Use = "recall" // It is finished: the record has its result.
	Adopt  Use = "adopt"  // A result was declared for the same call in another run: store it under the key of this run.
)

// Begin decides how to obtain the result of an effect. It may be made only for Make; for Recall and Adopt the record
// contains the result.
func (x *Effects) Begin(e Effect) (Use, events.JournalRecord) {
	if r, done := x.Finished[e.Key]; done {
		return Recall, r
	}
	for i := range x.Declared {
		if d := &x.Declared[i]; !e.Safe && d.answers(e.Name, e.Args) {
			return Adopt, d.Record
		}
	}
	return Make, events.JournalRecord{}
}

// Finish adds a record that the run stored after its claim.
func (x *Effects) Finish(r events.JournalRecord) {
	if r.Type != events.JournalResult || r.Reason != "" {
		return
	}
	if x.Finished == nil {
		x.Finished = map[string]events.JournalRecord{}
	}
	x.Finished[r.Key] = r
}

// CommandResult returns the result of a run whose only effect is its command, if that has finished: then the run need not
// continue.
func (x *Effects) CommandResult() (r events.JournalRecord, done bool) {
	r, done = x.Finished[Command]
	return r, done && r.Name == Command
}

// Announces returns the effect that the claim announces, or false: a run that has something to settle or to ask, or that
// ends at once, announces nothing.
func (x *Effects) Announces(first Effect) (Effect, bool) {
	_, done := x.CommandResult()
	if first.Name == "" || done || x.Failed != nil || len(x.Settled)+len(x.Unresolved) > 0 {
		return Effect{}, false
	}
	return first, true
}

// Pending reports whether the run has something to settle or to ask before it continues, or knows a declared result.
func (x *Effects) Pending() bool { return len(x.Settled)+len(x.Unresolved)+len(x.Declared) > 0 }

// Effects collects the effects of the run and of those that it continues, and the unknown outcomes of all runs: every intent
// without a result that must not be repeated without a decision. resumes is the run that it continues, 0 for none.
func (j *Journal) Effects(run, resumes int) Effects {
	runs := j.lineage(run, resumes)
	x := Effects{Run: run, Finished: map[string]events.JournalRecord{}, Begun: map[string]time.Time{}}
	var l ledger
	intents := map[effect]events.JournalRecord{}
	var declared []events.JournalRecord
	for i := range j.entries {
		e := &j.entries[i]
		mine := slices.Contains(runs, e.Run)
		_, _, stray := strayOf(e.Key)
		switch {
		case e.Type == events.JournalResult && stray:
			if mine {
				declared = append(declared, e.JournalRecord)
			}
		case e.Type == events.JournalResult && e.Key != "":
			// A record with a reason is a failed call: it has no result, and its outcome is not unknown.
			if e.Reason == "" && mine {
				x.Finished[e.Key] = e.JournalRecord
			}
			l.add(e)
		case announces(&e.JournalRecord):
			if _, known := x.Begun[e.Key]; mine && !known {
				x.Begun[e.Key] = e.Time
			}
			intents[effect{e.Run, e.Key}] = e.JournalRecord
			if _, done := x.Finished[e.Key]; done && mine {
				continue // The known result answers it.
			}
			l.add(e)
		default:
			l.add(e)
		}
	}
	for _, r := range declared {
		run, key, _ := strayOf(r.Key)
		x.declare(r, intents[effect{run, key}])
	}
	for _, u := range l.open {
		if !u.Intent.Safe {
			u.Stray = !slices.Contains(runs, u.Intent.Run)
			x.Unresolved = append(x.Unresolved, u)
		}
	}
	sortUnresolved(x.Unresolved)
	x.asked = l.asked
	return x
}

// effect identifies the effects within a SubJob that have one key in one run.
type effect struct {
	run int
	key string
}

// sortUnresolved sorts unknown outcomes by run, then by key, then by the time when they began.
func sortUnresolved(list []Unresolved) {
	slices.SortFunc(list, func(a, b Unresolved) int {
		if a.Intent.Run != b.Intent.Run {
			return a.Intent.Run - b.Intent.Run
		}
		return cmp.Or(strings.Compare(a.Intent.Key, b.Intent.Key), cmp.Compare(a.Seq, b.Seq))
	})
}
