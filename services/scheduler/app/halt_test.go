package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestStopOfAQuarantinedJobThroughTheAPIEndsItsWork(t *testing.T) {
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "c" {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	})
	w.schedule(Default(), Deps{})
	told := make(chan string, 8)
	unsubscribe := musttest.Get(w.Bus.SubscribeCore(w.Names.Cancel("bad", ""), func(_ string, body []byte) { told <- string(body) }))(t)
	defer unsubscribe()
	w.Submit(events.Request{ID: "bad", Goal: "g", Plan: diamond()})
	w.Await(w.Names.JobEvents("bad"), func(e events.Event) bool { return e.SubJob == "b" })
	w.Publish(strings.TrimSuffix(w.Names.JobEvents("bad"), ">")+"graph.rewoven.x", []byte(`{"specversion":"1.0","type":"io.jobgraph.graph.rewoven.v1","data":{}}`))
	w.quarantined("bad")
	_, fault := w.ask("stop", `{"id":"bad","reason":"enough"}`)
	if fault == nil || fault.Code != events.CodeConflict || !strings.Contains(fault.Message, "in quarantine") {
		t.Fatalf("answer: %v", fault)
	}
	if got := <-told; got != `{"reason":"enough"}` {
		t.Errorf("workers are told %s", got)
	}
	if _, err := w.Bus.Streams().LastOn(t.Context(), w.Names.Work, w.Names.JobWork("bad")); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("its work: %v", err)
	}
}
