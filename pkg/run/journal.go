package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Journal is the fold of the records of one SubJob's journal. The zero value is an empty journal.
type Journal struct {
	entries []Entry
	runs    []state // The runs in ascending order.
	ends    []end   // Each ends more runs than the previous one.
}

// state is what a journal contains about one run.
type state struct {
	run int
	// owner made the last claim; renewed is the index of its last claim or renewal among the entries, -1 for none.
	owner   string
	renewed int
	// resumes is the run that it continues, 0 for none.
	resumes int
	// reported is the index of the record of its end among the entries, -1 for none.
	reported int
	// claimed is true once an owner wrote anything; wrote is when it last did, and lease the last lease that it asked for.
	claimed bool
	wrote   time.Time
	lease   time.Duration
}

// end is a record that ends a run and all lower ones.
type end struct {
	upTo   int
	closed bool // Otherwise a later run has begun.
	reason string
}

// Read folds a journal, oldest record first. It keeps the entries, which the caller must not change.
func Read(entries []Entry) *Journal {
	j := &Journal{entries: entries}
	for i := range entries {
		j.add(i)
	}
	return j
}

func (j *Journal) add(i int) {
	e := &j.entries[i]
	if e.Type == "" {
		return // The entry is not a record.
	}
	if e.Type == events.JournalClosed {
		j.end(end{upTo: e.Run, closed: true, reason: e.Reason})
	} else {
		j.end(end{upTo: e.Run - 1, reason: e.Reason})
	}
	s := j.touch(e.Run)
	switch e.Type {
	case events.JournalClaimed:
		s.owner, s.renewed = e.Owner, i
		var r resume
		if len(e.Data) > 0 && json.Unmarshal(e.Data, &r) == nil {
			s.resumes = r.Of
		}
	case events.JournalRenewed:
		s.renewed = i
	case events.JournalReported:
		s.reported = i
	}
	if e.Owner == "" {
		return
	}
	s.claimed, s.wrote = true, e.Time
	if e.Lease > 0 {
		s.lease = e.Lease.Std()
	}
}

func (j *Journal) end(e end) {
	if len(j.ends) == 0 || e.upTo > j.ends[len(j.ends)-1].upTo {
		j.ends = append(j.ends, e)
	}
}

func (j *Journal) touch(run int) *state {
	i, found := slices.BinarySearchFunc(j.runs, run, func(s state, run int) int { return cmp.Compare(s.run, run) })
	if !found {
		j.runs = slices.Insert(j.runs, i, state{run: run, renewed: -1, reported: -1})
	}
	return &j.runs[i]
}

// of returns what the journal contains about a run, or nil.
func (j *Journal) of(run int) *state {
	for i := range j.runs {
		if j.runs[i].run == run {
			return &j.runs[i]
		}
	}
	return nil
}

// Last returns the sequence of the last record on the journal's subject, which the next append must expect; 0 for none.
func (j *Journal) Last() uint64 {
	for i := len(j.entries) - 1; i >= 0; i-- {
		if e := &j.entries[i]; !e.Apart {
			return e.Seq
		}
	}
	return 0
}

// Over reports whether the run can no longer be executed, and why: it is closed, or a later one has begun.
func (j *Journal) Over(run int) (reason string, over bool) {
	e := j.overBy(run)
	if e == nil {
		return "", false
	}
	return e.reason, true
}

func (j *Journal) overBy(run int) *end {
	for i := range j.ends {
		if j.ends[i].upTo >= run {
			return &j.ends[i]
		}
	}
	return nil
}

// IsClosed reports whether a record of the journal closes the run.
func (j *Journal) IsClosed(run int) bool {
	return slices.ContainsFunc(j.entries, func(e Entry) bool { return e.Type == events.JournalClosed && e.Run >= run })
}

// Holds reports whether the owner still holds the run: the last claim is its own, and the run is not over. Only then may it
// begin an effect or append to the journal.
func (j *Journal) Holds(run int, owner string) bool {
	s := j.of(run)
	return s != nil && owner != "" && s.owner == owner && j.overBy(run) == nil
}

// Stored reports whether a record was stored after a sequence, for a writer with an unknown outcome.
func (j *Journal) Stored(behind uint64, r *events.JournalRecord) bool {
	return slices.ContainsFunc(j.entries, func(e Entry) bool {
		// A renewal that was stored late is not a release.
		return e.Seq > behind && e.Owner == r.Owner && e.Type == r.Type && e.Key == r.Key && e.Lease == r.Lease
	})
}

// Held returns the time until which a run is held, for those who close it: by the broker's clock, one lease after its
// owners' last record. claimed is false if it was never claimed.
func (j *Journal) Held(run int) (until time.Time, claimed bool) {
	s := j.of(run)
	if s == nil || !s.claimed {
		return time.Time{}, false
	}
	return s.wrote.Add(s.lease), true
}

// Holder is the owner of a run in progress.
type Holder struct {
	Owner string
	// Lease is how long its claim holds without a record of the owner; Heard is the time of the last one, by the broker's
	// clock.
	Lease time.Duration
	Heard time.Time
}

// Until returns when another owner may take the run over, unless its owner writes before that.
func (h *Holder) Until() time.Time { return h.Heard.Add(h.Lease) }

// Holder returns the owner of the run. ok is false if there is none: it was never claimed, or was released, or is over or
// reported.
func (j *Journal) Holder(run int) (h Holder, ok bool) {
	s := j.of(run)
	if s == nil || s.owner == "" || s.reported >= 0 || j.overBy(run) != nil {
		return h, false
	}
	h = Holder{Owner: s.owner, Lease: j.entries[s.renewed].Lease.Std(), Heard: s.wrote}
	return h, h.Lease > 0
}

// GivenUp returns when the owner of the run released it, for example while it drained. ok is false if it has an owner, was never
// claimed, or is over or reported.
func (j *Journal) GivenUp(run int) (at time.Time, ok bool) {
	s := j.of(run)
	if s == nil || s.owner == "" || s.reported >= 0 || j.overBy(run) != nil || j.entries[s.renewed].Lease > 0 {
		return time.Time{}, false
	}
	return s.wrote, true
}

// Claimed reports whether the run was ever claimed.
func (j *Journal) Claimed(run int) bool {
	s := j.of(run)
	return s != nil && s.owner != ""
}

// Resumes returns the run that a run continues, according to its claims; 0 for none.
func (j *Journal) Resumes(run int) int {
	if s := j.of(run); s != nil {
		return s.resumes
	}
	return 0
}

// Lineage returns a claimed run and all those that it continues, latest first, according to their claims.
func (j *Journal) Lineage(run int) []int { return j.lineage(run, j.Resumes(run)) }

// lineage is like Lineage, for a run that may not have claimed yet; resumes is the run that it continues, 0 for none.
func (j *Journal) lineage(run, resumes int) []int {
	list := []int{run}
	for resumes > 0 && !slices.Contains(list, resumes) {
		list = append(list, resumes)
		resumes = j.Resumes(resumes)
	}
	return list
}

// Action is what to do with a work message.
type Action string

// The possible actions.
const (
	// Claim: append a claim after Expect and execute the run.
	Claim Action = "claim"
	// Wait: return the message for a while, because another owner is executing the run.
	Wait Action = "wait"
	// Replay: publish the report in the journal, without executing the run.
	Replay Action = "replay"
	// Drop: acknowledge the message and do nothing.
	Drop Action = "drop"
)

// Claimant wants to claim a run.
type Claimant struct {
	// Owner is its name. A process that is executing the run itself does not ask.
	Owner string
	// Now is the broker's time. It decides about leases, since the broker stamps the records. With the zero time no lease
	// has passed.
	Now time.Time
	// Since is when the owner of a claim could first have renewed it, as far as the claimant knows: the broker has been
	// reachable since then.
	Since time.Time
}

// Admission is the decision about a claimant.
type Admission struct {
	Action Action
	// Reason says why, for the log.
	Reason string
	// Expect is the sequence of the journal's last record, for Claim and Replay; 0 for an empty journal.
	Expect uint64
	// Takeover is true if the claim fences an owner whose own claim is dead.
	Takeover bool
	// Wait is how long to return the message for.
	Wait time.Duration
	// Report is the record of the run's end in the journal, for Replay.
	Report *events.JournalRecord
}

// Admit decides whether the run may be claimed. A run that is over is dropped, a reported one is replayed. Otherwise a
// claim keeps others off until it is dead: its owner released it, the claimant took over its owner's seat, or it was not
// renewed for a whole lease during which it could have been. Of several claimants that see the same journal only one gets
// the run, since the claim has to expect Expect.
func (j *Journal) Admit(run int, c Claimant) Admission {
	a := Admission{Action: Claim, Expect: j.Last()}
	if e := j.overBy(run); e != nil {
		reason := "the run is closed: " + e.reason
		if !e.closed {
			reason = fmt.Sprintf("run %d has begun", e.upTo+1)
		}
		return Admission{Action: Drop, Reason: reason}
	}
	s := j.of(run)
	switch {
	case s == nil:
		return a
	case s.reported >= 0:
		a.Action, a.Reason, a.Report = Replay, "the run has ended", &j.entries[s.reported].JournalRecord
		return a
	case s.renewed < 0:
		return a
	}
	e := &j.entries[s.renewed]
	if until, dead := expiry(e, c); !dead {
		return Admission{Action: Wait, Reason: "at work: " + e.Owner, Wait: max(until.Sub(c.Now), MinLease)}
	}
	a.Takeover = e.Owner != ""
	return a
}

// expiry reports whether a claim is dead, or else when it will be.
func expiry(e *Entry, c Claimant) (until time.Time, dead bool) {
	lease := e.Lease.Std()
	if e.Owner == "" || e.Owner == c.Owner || Succeeds(c.Owner, e.Owner) || lease <= 0 {
		return time.Time{}, true
	}
	until = e.Time
	if until.Before(c.Since) {
		until = c.Since
	}
	until = until.Add(lease)
	return until, !c.Now.Before(until)
}
