package run_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// The identities of a run are on the wire and in journals: none may change.
func TestIdentities(t *testing.T) {
	again := &events.Work{Job: "j", SubJob: "s", Run: 3, IdempotencyKey: "j@7/s/3", ReportID: "j@7/s/3"}
	plain := &events.Work{Job: "j", SubJob: "s", Run: 3, ReportID: "elsewhere/s/3"}
	for got, want := range map[string]string{
		run.ID(incarnation.ID("j", 7), "s", 3):                          "j@7/s/3",
		run.EventID("j", events.KindSubJobClosed, "s", 3):               "j/subjob.closed/s/3",
		run.WorkID("j@7", "s", 3):                                       "j@7/subjob.issued/s/3",
		run.FactID("j", events.KindInputClosed, "q"):                    "j/input.closed/q",
		run.FactID("j", events.KindJobRequested, ""):                    "j/job.requested",
		run.KeyOf(again, 1):                                             "j@7/s/1",
		run.CallKey(run.KeyOf(again, 1), "tool/1/0"):                    "j@7/s/1/tool/1/0",
		run.KeyOf(plain, 1):                                             "j/s/1",
		run.ReportID(again):                                             "j@7/s/3",
		run.ReportID(plain) + "!":                                       "j/s/3!",
		run.UnknownRequest("s", 3):                                      "s~3~unknown",
		run.RequestID(strings.Repeat("x", 600), 3, "approval")[490:500]: "3~approval",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheSubjectOfWorkSaysWhoseItIs(t *testing.T) {
	n := events.NewNames("")
	at, err := run.ReadAddress(n, n.WorkFor("pool", "x", "j", "s", 3))
	if want := (run.Address{Pool: "pool", Expert: "x", Job: "j", SubJob: "s", Run: 3}); at != want || err != nil {
		t.Error(at, err)
	}
	for _, subject := range []string{"", n.JournalOf("j", "s"), n.WorkFor("pool", "x", "j", "s", 0), n.WorkFor("pool", "x", "j", "s", 3) + ".4", n.Prefix() + ".work.p.x.j.s.03"} {
		if at, err := run.ReadAddress(n, subject); err == nil {
			t.Errorf("%q is %+v", subject, at)
		}
	}
}
