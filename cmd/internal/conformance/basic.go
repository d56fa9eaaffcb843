package conformance

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// signOfLife is how long a worker may be silent; after that the broker may redeliver its work.
const signOfLife = 10 * time.Second

// basic checks the first level: one piece of work, and the same once more.
func basic(t, again *trace) []Check {
	if len(t.list) == 0 {
		return []Check{rule("takes work of its pool", false, "nothing was heard of the work: does the worker run, and does it pull from pool-"+t.work.Spec.Pool+"?")}
	}
	checks := []Check{rule("takes work of its pool", true, "")}
	if t.first(reported) < 0 && t.first(parked) >= 0 {
		checks = append(checks, unseen("reports", "it asks a person instead, and the answer opens another run"))
	} else {
		checks = append(checks, t.reporting()...)
	}
	end := max(t.first(reported), t.first(parked))
	ack := t.first(acked)
	checks = append(checks,
		rule("acknowledges the work", ack >= 0, "no +ACK was heard"),
		rule("reports before it acknowledges", end >= 0 && (ack < 0 || end < ack), "a worker that dies between the two loses the work"),
		t.alive(),
	)
	return append(checks, repeated(t, again)...)
}

// reporting checks that the worker reports as the contract requires.
func (t *trace) reporting() []Check {
	at := t.first(reported)
	if at < 0 {
		return []Check{rule("reports", false, "nothing came on report_subject "+t.work.ReportSubject)}
	}
	s := t.list[at]
	r := s.report
	agrees := (r.Job == "" || r.Job == t.work.Job) && (r.SubJob == "" || r.SubJob == t.work.SubJob) && (r.Run == 0 || r.Run == t.work.Run)
	id := s.msg.Get(events.HeaderMsgID)
	return []Check{
		rule("reports", true, ""),
		rule("reports JSON", s.fault == "", s.fault),
		rule("reports one of the four outcomes", s.fault != "" || r.Outcome.Valid(), fmt.Sprintf("%.80q is none of SUCCESS, EXECUTION_ERROR, INPUT_DATA_ERROR, JOB_TOO_COMPLICATED_ERROR", string(r.Outcome))),
		rule("reports under the report_id", id == t.work.ReportID, fmt.Sprintf("the header Nats-Msg-Id is %.80q, not %q", id, t.work.ReportID)),
		rule("names no other run in the report", agrees, fmt.Sprintf("it says %.80q/%.80q run %d", r.Job, r.SubJob, r.Run)),
		rule("asks whether the report is stored", s.msg.Reply != "", "the report was published without a subject for the answer: acknowledge the work only when the bus has it"),
	}
}

// alive checks the heartbeats while work lasts.
func (t *trace) alive() Check {
	const name = "says that long work is in hand"
	if t.lasted() < signOfLife {
		return unseen(name, fmt.Sprintf("the work was over within %s; give a --goal or --input that lasts longer than %s", t.lasted().Round(time.Millisecond), signOfLife))
	}
	return rule(name, t.first(inHand) >= 0, "no +WPI was heard for "+t.lasted().Round(time.Millisecond).String())
}

// repeated checks how a worker handled repeated work.
func repeated(t, again *trace) []Check {
	if again == nil {
		return nil
	}
	other := ""
	for _, list := range [][]seen{t.all(reported), again.all(reported)} {
		for _, s := range list {
			if id := s.msg.Get(events.HeaderMsgID); id != t.work.ReportID {
				other = id
			}
		}
	}
	return []Check{
		rule("settles work that comes again", again.first(acked) >= 0 || again.first(settled) >= 0, "the second delivery was left open"),
		rule("reports it under the same id", other == "", fmt.Sprintf("another report came under %.80q", other)),
	}
}
