package conformance

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// expectHeader makes an append fail unless the journal ends where its writer expects.
const expectHeader = "Nats-Expected-Last-Subject-Sequence"

// promptly is how soon a cancelled worker has to finish.
const promptly = 3 * time.Second

// claims checks the claim and the journal of an undisturbed run.
func claims(t *trace) []Check {
	list := t.records(events.JournalClaimed)
	if len(list) == 0 {
		return []Check{rule("claims the run", false, "no record \"claimed\" came on claim_subject "+t.work.ClaimSubject)}
	}
	c := list[0]
	end := t.first(reported)
	kept := t.records(events.JournalReported)
	checks := []Check{
		rule("claims the run", true, ""),
		rule("claims behind what it has read", c.msg.Get(expectHeader) != "", "the record has no header "+expectHeader),
		rule("claims for itself and for a time", c.record.Run == t.work.Run && c.record.Owner != "" && c.record.Lease > 0, fmt.Sprintf("run %d, owner %.40q, lease %s", c.record.Run, c.record.Owner, c.record.Lease.Std())),
		rule("claims before it reports", end < 0 || t.list[end].at >= c.at, "the report came first"),
		rule("keeps the report in the journal", end < 0 || len(kept) > 0, "no record \"reported\" came: a successor does the work again"),
	}
	return append(checks, renews(t, c))
}

// renews checks whether a claim is renewed before its lease is over.
func renews(t *trace, claim seen) Check {
	const name = "renews its claim in time"
	lease := claim.record.Lease.Std()
	last, late := claim.at, time.Duration(0)
	for _, s := range t.records(events.JournalRenewed) {
		late, last = max(late, s.at-last), s.at
	}
	late = max(late, t.lasted()-last)
	if t.lasted()-claim.at < lease {
		return unseen(name, fmt.Sprintf("the work was over within its lease of %s; give a --goal or --input that lasts longer", lease))
	}
	return rule(name, late <= lease, fmt.Sprintf("%s passed without a record \"renewed\", with a lease of %s", late.Round(time.Millisecond), lease))
}

// closedRun checks work for a run that was closed before.
func closedRun(t *trace) Check {
	const name = "leaves a closed run alone"
	if t.first(reported) >= 0 || len(t.taken()) > 0 {
		return rule(name, false, "it claimed or reported a run that the journal has closed")
	}
	return rule(name, t.first(acked) >= 0, "the work was not acknowledged")
}

// heldRun checks work for a run that the kit had claimed for a time.
func heldRun(t *trace) Check {
	const name = "waits while another worker holds the run"
	taken := t.taken()
	if len(taken) == 0 {
		if t.first(reported) >= 0 {
			return rule(name, false, "it reported a run that another worker held")
		}
		return rule(name, false, "it did not take the run over when the lease had passed")
	}
	held := taken[0].Time.Sub(t.journal[0].Time)
	if held < Lease {
		return rule(name, false, "it claimed the run "+held.Round(time.Millisecond).String()+" into a lease of "+Lease.String())
	}
	return rule(name, t.over(), "it claimed the run and did not report and acknowledge it")
}

// cancelled checks that a worker has ended a cancelled run promptly.
func cancelled(t *trace, told time.Duration, claimed bool) Check {
	const name = "stops when it is told to"
	if !claimed {
		return rule(name, false, "the run was not claimed, so there was nothing to stop")
	}
	for _, s := range t.list {
		if s.what != reported && s.what != acked && s.what != settled {
			continue
		}
		after := s.at - told
		switch {
		case s.what == reported && s.report.Outcome == events.Success && after > promptly:
			return rule(name, false, "it went on for "+after.Round(time.Millisecond).String()+" and reported SUCCESS")
		case s.what == reported && s.report.Outcome == events.Success || after < 0:
			return unseen(name, "the work was over before it could be stopped; give a --goal or --input that lasts longer than "+promptly.String())
		case after > promptly:
			return rule(name, false, "it went on for "+after.Round(time.Millisecond).String())
		}
		return Check{Rule: name, Verdict: Kept, Detail: "after " + strconv.FormatInt(after.Milliseconds(), 10) + " ms"}
	}
	return rule(name, false, "nothing was heard after it was told to stop")
}
