package app

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A job is stopped and deleted while a worker is at work on it, and another job gets its id: what that worker reports then is not its
// result.
func TestALateReportOfADeletedJobIsNotThatOfTheNextOneWithItsID(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		taken := make(chan events.Work, 2)
		w := newWorkers(t, func(work *events.Work) *events.SubJobReported { taken <- *work; return nil })
		w.schedule(Default(), Deps{})
		do := func(verb, body string) {
			t.Helper()
			if answer, fault := w.ask(verb, body); fault != nil {
				t.Fatalf("%s: %s, %v", verb, answer, fault)
			}
		}
		begin := func() events.Work {
			t.Helper()
			do("submit", fmt.Sprintf(`{"id":"j","goal":"g","plan":%s}`, plan(sub("a"))))
			return <-taken
		}
		report := func(of *events.Work, output string) {
			t.Helper()
			body := musttest.Get(json.Marshal(events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(output)}))(t)
			m := events.Message{Subject: of.ReportSubject, Header: events.Header(events.HeaderMsgID, of.ReportID), Body: body}
			musttest.Get(w.Bus.Publish(t.Context(), m, bus.Expect{}))(t)
		}
		first := begin()
		do("stop", "j")
		w.settled()
		do("delete", "j")
		second := begin()
		report(&first, `"of the first"`)
		w.settled()
		report(&second, `"of the second"`)
		if end := w.Ended("j"); end.Status != events.Finished || string(end.Result) != `"of the second"` {
			t.Errorf("%s with %s", end.Status, end.Result)
		}
	})
}
