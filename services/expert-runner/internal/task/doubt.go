package task

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Unsettled is an effect of which nobody knows whether it took place: an intent without a result that must not be made again
// unseen.
type Unsettled struct {
	// Intent is what the journal has of it. A claim that announces its effect has no arguments.
	Intent events.JournalRecord
	// Seq is the intent's sequence in the journal, and its identity: what is decided names it.
	Seq uint64
	// Stray is true when the run that began it is none that this one continues: it was stopped, or took too long.
	Stray bool
}

// State is what was found out about an effect.
type State string

// The states. Anything else counts as Unknown.
const (
	Done    State = "done"     // It took effect; the result is known.
	NotDone State = "not_done" // It did not, and may be made.
	Failed  State = "failed"   // It did not, and the run ends for it.
	Unknown State = "unknown"  // Nobody can tell: a person has to.
)

// Finding is what somebody has found out about an effect.
type Finding struct {
	// State says what became of it.
	State State
	// Result is what a Done effect has given.
	Result json.RawMessage
	// Reason says why, or who says so.
	Reason string
}

// Known is a declared result of a stray effect: it answers the same call with the same arguments.
type Known struct {
	// Name and Args are the call, Record its result.
	Name   string
	Args   json.RawMessage
	Record events.JournalRecord
}

// Answers reports whether the result is that of a call.
func (k *Known) Answers(name string, args json.RawMessage) bool {
	return k.Name == name && bytes.Equal(compacted(k.Args), compacted(args))
}

func compacted(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Settle takes in what was found out about the doubts of a decision, one finding for each in order. What is settled is to be
// journaled behind the claim, so that nobody has to be asked again; the doubts that stay make the ending.
func (d *Decision) Settle(o *Order, found []Finding) {
	var open []Unsettled
	var failed *Ending
	for i, doubt := range d.Doubts {
		f := Finding{State: Unknown}
		if i < len(found) {
			f = found[i]
		}
		switch f.State {
		case Done:
			d.done(o, doubt, f.Result)
		case NotDone:
			d.closes(doubt, "not done: "+f.Reason)
		case Failed:
			d.closes(doubt, "failed: "+f.Reason)
			e := Failure(events.CodeExecution, "the effect "+doubt.Intent.Name+" is declared failed", f.Reason, "")
			failed = &e
		default:
			if f.Reason != "" {
				d.Heard = append(d.Heard, f.Reason)
			}
			open = append(open, doubt)
		}
	}
	d.Doubts = open
	d.Ending = d.ending(o, failed)
}

// ending is how a run ends that need not, or cannot, go on; nil for one that goes on.
func (d *Decision) ending(o *Order, failed *Ending) *Ending {
	if failed != nil {
		return failed
	}
	if len(d.Doubts) > 0 {
		e := o.park(d.Doubts, strings.Join(append([]string{"The run broke off at work on " + o.SubJob + "."}, d.Heard...), " "))
		return &e
	}
	if r, done := d.Memory[Command]; done && r.Name == Command {
		return &Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: r.Data, OutputRef: r.Ref}}
	}
	return nil
}

// done keeps a declared result. The one of a stray effect is this run's to know.
func (d *Decision) done(o *Order, doubt Unsettled, result json.RawMessage) {
	r := doubt.Intent
	kept := events.JournalRecord{Type: events.JournalResult, Run: r.Run, Key: r.Key, Name: r.Name, Data: result}
	if !doubt.Stray {
		kept.Decides = doubt.Seq
		d.Settled = append(d.Settled, kept)
		d.Memory[r.Key] = kept
		return
	}
	kept.Run, kept.Key = o.Run, strayKey(r.Run, r.Key)
	d.Settled = append(d.Settled, kept)
	d.closes(doubt, "declared done")
	d.know(kept, r)
}

// know remembers the result of a stray effect, for the same call; that of a command is the run's own.
func (d *Decision) know(kept, intent events.JournalRecord) {
	if intent.Name == Command {
		d.Memory[Command] = kept
		return
	}
	d.Known = append(d.Known, Known{Name: intent.Name, Args: intent.Data, Record: kept})
}

// closes ends the doubt without a result.
func (d *Decision) closes(doubt Unsettled, why string) {
	r := doubt.Intent
	d.Settled = append(d.Settled, events.JournalRecord{
		Type: events.JournalResult, Run: r.Run, Key: r.Key, Name: r.Name, Reason: why, Decides: doubt.Seq,
	})
}

// strayMark opens the key under which a run keeps the declared result of an effect that another run began.
const strayMark = "~"

func strayKey(run int, key string) string { return strayMark + strconv.Itoa(run) + "/" + key }

// strayOf reads such a key.
func strayOf(key string) (run int, of string, ok bool) {
	rest, marked := strings.CutPrefix(key, strayMark)
	number, of, found := strings.Cut(rest, "/")
	run, err := strconv.Atoi(number)
	return run, of, marked && found && err == nil
}

// Doubt asks a person what became of effects that a run has made, and of which nobody knows how they ended: key, name and
// arguments of each are shown. why is a sentence.
func Doubt(w *events.Work, why string, effects ...events.JournalRecord) Ending {
	o := &Order{Work: *w}
	doubts := make([]Unsettled, len(effects))
	for i, r := range effects {
		doubts[i] = Unsettled{Intent: r}
	}
	return o.park(doubts, why)
}

// Bounds of the calls that a question shows, in bytes: of all of them, for a message takes six times as much, and of each when
// there are too many for that.
const (
	maxCalls = 64 << 10
	maxCall  = 2 << 10
)

// park asks a person what became of effects whose outcome nobody knows: it shows each call as it was made.
func (o *Order) park(doubts []Unsettled, why string) Ending {
	var b strings.Builder
	b.WriteString(o.shown(why, maxCause) + " Nobody knows whether this took effect:\n")
	o.writeCalls(&b, doubts)
	b.WriteString("Answer retry if it did not happen and is to be done, success if it did, fail if it did not and is not to be done. " +
		`What it gave can be told: {"choice":"success","output":…}.`)
	if len(doubts) > 1 {
		b.WriteString(` So can each by itself: {"effects":{"` + doubts[0].Intent.Key + `":{"choice":"retry"}}}.`)
	}
	return Ending{Park: &events.InputRequested{
		Request: o.unknownRequest(o.Run), Kind: events.InputUnknown, Prompt: b.String(),
		Options: []string{choiceRetry, choiceSuccess, choiceFail}, User: o.User,
	}}
}

// writeCalls writes the calls whole when they fit, and says what it leaves out otherwise.
func (o *Order) writeCalls(b *strings.Builder, doubts []Unsettled) {
	calls, sum := make([]string, len(doubts)), 0
	for i := range doubts {
		calls[i] = o.called(&doubts[i].Intent)
		sum += len(calls[i])
	}
	limit := maxCalls
	if sum > maxCalls {
		limit = max(maxCall, maxCalls/(2*len(calls)))
	}
	left := maxCalls
	for i, call := range calls {
		call = o.shown(call, limit)
		if left -= len(call); left < 0 {
			b.WriteString("- and " + strconv.Itoa(len(calls)-i) + " more: jobgraph describe " + o.Job + "/" + o.SubJob + "\n")
			return
		}
		b.WriteString("- " + call + "\n")
	}
}

// shown is a text of at most so many bytes, and of a longer one how much that is and where all of it is.
func (o *Order) shown(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s… (%d of %d bytes; all of it: jobgraph describe %s/%s)", cut(text, limit), limit, len(text), o.Job, o.SubJob)
}

// called is a call in words: name, key, arguments, and the run that made it.
func (o *Order) called(r *events.JournalRecord) string {
	text := r.Name
	switch {
	case r.Name == Command:
		text = fmt.Sprintf("%s of expert %s for %q", text, o.Spec.Expert, o.Goal)
	case r.Key != r.Name:
		text += " " + r.Key
	}
	if len(r.Data) > 0 && r.Type != events.JournalClaimed {
		text += " with " + string(r.Data)
	}
	if r.Run > 0 && r.Run != o.Run {
		text += " of run " + strconv.Itoa(r.Run)
	}
	return text
}

// sortDoubts brings the doubts in order: by run, then by key, then as they were begun.
func sortDoubts(list []Unsettled) {
	slices.SortFunc(list, func(a, b Unsettled) int {
		if a.Intent.Run != b.Intent.Run {
			return a.Intent.Run - b.Intent.Run
		}
		return cmp.Or(strings.Compare(a.Intent.Key, b.Intent.Key), cmp.Compare(a.Seq, b.Seq))
	})
}
