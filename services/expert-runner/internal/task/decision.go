package task

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/owner"
)

// Entry is one record of a journal, as stored.
type Entry struct {
	// Record is what was appended.
	Record events.JournalRecord
	// Seq is its sequence in the journal's stream, Time the stream's own timestamp.
	Seq  uint64
	Time time.Time
}

// Facts are what a runner knows when a work message is in its hands.
type Facts struct {
	// Owner is this runner, which is not at work on the run: it would have noticed.
	Owner string
	// Now is the time by which leases are judged: that of the broker, which has stamped the records. Without one none has passed.
	Now time.Time
	// Since is from when on the owner of a claim could have renewed it, as far as this runner knows: the broker has been there.
	Since time.Time
	// Journal is the whole journal of the SubJob, oldest first.
	Journal []Entry
}

// Move is what to do with a work message.
type Move string

// The moves.
const (
	// Claim appends a claim behind Expect and executes, or ends at once when Ending is set.
	Claim Move = "claim"
	// Wait gives the message back for a while: somebody else is at work.
	Wait Move = "wait"
	// Replay publishes the ending that the journal kept, without executing.
	Replay Move = "replay"
	// Drop acknowledges and does nothing.
	Drop Move = "drop"
)

// Decision is the answer of Decide.
type Decision struct {
	Move Move
	// Reason says why, for the log.
	Reason string
	// Expect is the sequence of the journal's last record, 0 for an empty one.
	Expect uint64
	// Takeover is true when the claim fences an owner that let its lease pass.
	Takeover bool
	// Wait is how long to give the message back.
	Wait time.Duration
	// Memory holds the effects that are finished; Known declared results of effects that other runs began.
	Memory Memory
	Known  []Known
	// Doubts are the effects of which nobody knows yet whether they took place; Heard is what those said who could not tell.
	Doubts []Unsettled
	Heard  []string
	// Settled are the records that end doubts, to be appended behind the claim.
	Settled []events.JournalRecord
	// Ending is set for Replay, and for a Claim that ends without executing.
	Ending *Ending
}

// Announces gives the effect that the claim announces together with itself, or none and false: a run that has something to
// settle, or that ends at once, announces nothing before that is done.
func (d *Decision) Announces(first Intent) (Intent, bool) {
	if first.Name == "" || d.Ending != nil || len(d.Settled)+len(d.Doubts) > 0 {
		return Intent{}, false
	}
	return first, true
}

// Decide says what to do with a run, given the journal.
func Decide(o *Order, f Facts) Decision {
	d := Decision{Move: Claim}
	var holder string
	var until time.Time
	var reported *events.JournalRecord
	for i := range f.Journal {
		e := &f.Journal[i]
		d.Expect = e.Seq
		r := &e.Record
		switch {
		case r.Type == events.JournalClosed && r.Run >= o.Run:
			return Decision{Move: Drop, Reason: "the run is closed: " + r.Reason}
		case r.Run > o.Run:
			return Decision{Move: Drop, Reason: fmt.Sprintf("run %d has begun", r.Run)}
		case r.Run < o.Run:
		case r.Type == events.JournalClaimed, r.Type == events.JournalRenewed:
			holder, until = r.Owner, f.expiry(e)
		case r.Type == events.JournalReported:
			reported = r
		}
	}
	if reported != nil {
		return replay(d, *reported)
	}
	if holder != "" && holder != f.Owner && !owner.Succeeds(f.Owner, holder) && f.Now.Before(until) {
		return Decision{Move: Wait, Reason: "at work: " + holder, Wait: max(until.Sub(f.Now), MinLease)}
	}
	d.Takeover = holder != ""
	d.remember(o, f.Journal)
	return d
}

// expiry is when a claim is dead that was not renewed: a lease behind its last record, throughout which it could have been. One that
// was let go of has no lease.
func (f *Facts) expiry(e *Entry) time.Time {
	at := e.Time
	if lease := e.Record.Lease.Std(); lease > 0 {
		if at.Before(f.Since) {
			at = f.Since
		}
		at = at.Add(lease)
	}
	return at
}

// replay gives the kept ending; one that cannot be read is an EXECUTION_ERROR, since the work itself was done.
func replay(d Decision, r events.JournalRecord) Decision {
	ending, err := kept(r)
	if err != nil {
		ending = Failure(events.CodeInternal, "the journal's record of the report is damaged", err.Error(), "retry the SubJob by hand")
	}
	return Decision{Move: Replay, Reason: "the run has ended", Expect: d.Expect, Ending: &ending}
}

// Holds reports whether the owner still holds the run at the end of the journal: the last claim is its own and nothing
// closed the run. last is the sequence behind which it may go on.
func Holds(journal []Entry, run int, owner string) (last uint64, ok bool) {
	for i := range journal {
		r := &journal[i].Record
		last = journal[i].Seq
		switch {
		case r.Run > run, r.Type == events.JournalClosed && r.Run >= run:
			return last, false
		case r.Run == run && r.Type == events.JournalClaimed:
			ok = r.Owner == owner
		}
	}
	return last, ok
}

// Closed reports whether the journal closes the run, and why.
func Closed(journal []Entry, run int) (reason string, closed bool) {
	for i := range journal {
		if r := &journal[i].Record; r.Type == events.JournalClosed && r.Run >= run || r.Run > run {
			return r.Reason, true
		}
	}
	return "", false
}
