package task

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Doubt asks a person about effects with an unknown outcome, showing key, name and arguments of each. why is a sentence.
func Doubt(w *events.Work, why string, effects ...run.Effect) Ending {
	o := &Order{Work: *w}
	doubts := make([]run.Unresolved, len(effects))
	for i, e := range effects {
		doubts[i] = run.Unresolved{Intent: run.Intends(w.Run, "", e)}
	}
	return o.park(doubts, why)
}

// Limits of the calls that a question shows, in bytes: of all of them (a message may hold six times as much), and of each if they
// are too many.
const (
	maxCalls = 64 << 10
	maxCall  = 2 << 10
)

// park asks a person about effects with an unknown outcome and shows each call as it was made.
func (o *Order) park(doubts []run.Unresolved, why string) Ending {
	var b strings.Builder
	b.WriteString(o.shown(why, maxCause) + " It is unknown whether this took effect:\n")
	o.writeCalls(&b, doubts)
	b.WriteString("Answer retry if it did not happen and is to be done, success if it did, fail if it did not and is not to be done. " +
		`What it gave can be told: {"choice":"success","output":…}.`)
	if len(doubts) > 1 {
		b.WriteString(` So can each by itself: {"effects":{"` + doubts[0].Intent.Key + `":{"choice":"retry"}}}.`)
	}
	return Ending{Park: &events.InputRequested{
		Request: run.UnknownRequest(o.SubJob, o.Run), Kind: events.InputUnknown, Prompt: b.String(),
		Options: []string{run.Retry, run.Success, run.Fail}, User: o.User,
	}}
}

// writeCalls writes the calls in full if they fit, otherwise it says what it omits.
func (o *Order) writeCalls(b *strings.Builder, doubts []run.Unresolved) {
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

// shown cuts a text to limit bytes and says how long it was and where the full text is.
func (o *Order) shown(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s… (%d of %d bytes; all of it: jobgraph describe %s/%s)", clip.Text(text, limit), limit, len(text), o.Job, o.SubJob)
}

// called describes a call: name, key, arguments, and the run that made it.
func (o *Order) called(r *events.JournalRecord) string {
	text := r.Name
	switch {
	case r.Name == run.Command:
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
