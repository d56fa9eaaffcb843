package run

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Outcome is what is known about an effect.
type Outcome string

// The outcomes. Anything else counts as Unknown.
const (
	Done    Outcome = "done"     // It took place; the result is known.
	NotDone Outcome = "not_done" // It did not take place and may be made.
	Failed  Outcome = "failed"   // It did not take place, and the run ends because of it.
	Unknown Outcome = "unknown"  // It is not known what happened: a person decides.
)

// Resolution is what a person or a hook has found out about an effect.
type Resolution struct {
	// State says what is known.
	State Outcome
	// Result is the result of a Done effect.
	Result json.RawMessage
	// Reason says why, or who decided.
	Reason string
}

// Settle applies the resolutions of the unknown outcomes, one for each in order. The records in Settled have to be
// journaled after the claim: each names the intent that it decides, and closes no other. Unknown ones stay in Unresolved.
func (x *Effects) Settle(found []Resolution) {
	var open []Unresolved
	for i, u := range x.Unresolved {
		f := Resolution{State: Unknown}
		if i < len(found) {
			f = found[i]
		}
		switch f.State {
		case Done:
			x.done(u, f.Result)
		case NotDone:
			x.closes(u, "not done: "+f.Reason)
		case Failed:
			x.closes(u, "failed: "+f.Reason)
			x.Failed = &FailedEffect{Name: u.Intent.Name, Reason: f.Reason}
		default:
			if f.Reason != "" {
				x.Undecided = append(x.Undecided, f.Reason)
			}
			open = append(open, u)
		}
	}
	x.Unresolved = open
}

// done stores a declared result; that of a stray effect under a key of this run.
func (x *Effects) done(u Unresolved, result json.RawMessage) {
	r := u.Intent
	kept := events.JournalRecord{Type: events.JournalResult, Run: r.Run, Key: r.Key, Name: r.Name, Data: result}
	if !u.Stray {
		kept.Decides = u.Seq
		x.Settled = append(x.Settled, kept)
		x.Finish(kept)
		return
	}
	kept.Run, kept.Key = x.Run, strayKey(r.Run, r.Key)
	x.Settled = append(x.Settled, kept)
	x.closes(u, "declared done")
	x.declare(kept, r)
}

// declare stores the result of a stray effect for the same call; the result of a command becomes the run's own.
func (x *Effects) declare(kept, intent events.JournalRecord) {
	if intent.Name == Command {
		x.Finished[Command] = kept
		return
	}
	x.Declared = append(x.Declared, Declared{Name: intent.Name, Args: intent.Data, Record: kept})
}

// closes ends an unknown outcome without a result.
func (x *Effects) closes(u Unresolved, why string) {
	r := u.Intent
	x.Settled = append(x.Settled, events.JournalRecord{
		Type: events.JournalResult, Run: r.Run, Key: r.Key, Name: r.Name, Reason: why, Decides: u.Seq,
	})
}

// strayMark begins the key under which a run stores the declared result of another run's effect.
const strayMark = "~"

func strayKey(run int, key string) string { return strayMark + strconv.Itoa(run) + "/" + key }

// strayOf parses a key with strayMark.
func strayOf(key string) (run int, of string, ok bool) {
	rest, marked := strings.CutPrefix(key, strayMark)
	if !marked {
		return 0, "", false
	}
	number, of, found := strings.Cut(rest, "/")
	run, err := strconv.Atoi(number)
	return run, of, found && err == nil
}
