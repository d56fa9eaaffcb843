package app

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// raw publishes bytes on a subject of the log.
func (w *world) raw(subject, body string) {
	w.t.Helper()
	if _, err := w.bus.Publish(w.t.Context(), events.Message{Subject: subject, Body: []byte(body)}, bus.Expect{}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnUnknownKindQuarantinesItsJobAloneAndARecoverTriesAgain(t *testing.T) {
	w := newWorld(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "c" && work.Job == "bad" {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	})
	stop := w.schedule(Default(), Deps{})
	w.submit(events.Request{ID: "bad", Goal: "g", Plan: diamond()})
	w.await(t.Context(), w.bus.Names().JobEvents("bad"), func(e events.Event) bool { return e.SubJob == "b" })
	w.raw(w.bus.Names().JobEvents("bad")[:len(w.bus.Names().JobEvents("bad"))-1]+"graph.rewoven.x",
		`{"specversion":"1.0","type":"io.jobgraph.graph.rewoven.v1","data":{}}`)
	w.submit(events.Request{ID: "good", Goal: "g", Plan: diamond()})
	if end := w.ended("good"); end.Status != events.Finished {
		t.Errorf("the other job: %+v", end)
	}
	kept := w.quarantined("bad")
	if kept.Code != events.CodeMustUnderstand || !strings.Contains(kept.Hint, "upgrade") {
		t.Errorf("mark: %+v", kept)
	}
	w.settled()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func (w *world) quarantined(job string) *events.Fault {
	w.t.Helper()
	found := make(chan *events.Fault, 1)
	stop, err := w.bus.State().Watch(w.t.Context(), nil, func(e bus.Entry) {
		var s struct {
			Quarantined *events.Fault `json:"quarantined"`
		}
		if e.Key == job && json.Unmarshal(e.Value, &s) == nil && s.Quarantined != nil {
			select {
			case found <- s.Quarantined:
			default:
			}
		}
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer stop()
	select {
	case f := <-found:
		return f
	case <-time.After(2 * time.Minute):
		w.t.Fatalf("job %s is not quarantined", job)
		return nil
	}
}

func TestAMissingBlobQuarantinesItsJobUntilItIsRestored(t *testing.T) {
	w := newWorld(t, nil)
	names := w.bus.Names()
	stop := w.schedule(Default(), Deps{})
	w.stop() // No planner runs.
	w.submit(events.Request{ID: "j", Goal: "g"})
	w.await(t.Context(), names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindJobPlanning })
	text := diamond()
	ref, err := w.bus.Blobs().Put(t.Context(), "j", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.Blobs().Delete(t.Context(), "j"); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(events.GraphCreated{PlanRef: &ref})
	if err != nil {
		t.Fatal(err)
	}
	w.raw(names.RunEvent("j", events.KindGraphCreated, events.PlanID, 1), string(body))
	if f := w.quarantined("j"); f.Code != events.CodeMissingBlob {
		t.Errorf("mark: %+v", f)
	}
	if _, err := w.bus.Blobs().Put(t.Context(), "j", text); err != nil {
		t.Fatal(err)
	}
	w.control("j", events.KindRecoverRequested, &events.RecoverRequested{})
	w.saved("j", func(s *graph.State) bool { return s.Status == events.Running })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestEventsOfAJobThatDoesNotExistArePurged(t *testing.T) {
	w := newWorld(t, nil)
	stop := w.schedule(Default(), Deps{})
	names := w.bus.Names()
	w.raw(names.RunEvent("ghost", events.KindSubJobReported, "a", 1), `{"outcome":"SUCCESS"}`)
	w.raw(names.Control("ghost"), `{"type":"stop.requested"}`)
	w.submit(events.Request{ID: "real", Goal: "g", Plan: diamond()})
	w.ended("real")
	w.settled()
	subjects, err := w.bus.Streams().Subjects(t.Context(), names.Log, names.JobEvents("ghost"))
	if err != nil || len(subjects) > 0 {
		t.Errorf("left: %v, %v", subjects, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAnyBytesInTheLogNeverStopTheLoop(t *testing.T) {
	w := newWorld(t, nil)
	stop := w.schedule(Default(), Deps{})
	names := w.bus.Names()
	prefix := strings.TrimSuffix(names.JobEvents("x"), ">")
	for _, body := range []string{"", "null", "[]", "{", "\x00\xff", `{"type":7}`, `{"outcome":"MAYBE"}`, `{"subjob":{}}`} {
		for _, subject := range []string{
			prefix + "control", prefix + "job.requested", prefix + "subjob.reported.a.1", prefix + "subjob.reported.a.zero",
			prefix + "timer.fired", prefix + "job.finished", prefix + "a", "jobs.event.99.x.job.requested", "jobs.event.x",
		} {
			w.raw(subject, body)
		}
	}
	w.submit(events.Request{ID: "real", Goal: "g", Plan: diamond()})
	if end := w.ended("real"); end.Status != events.Finished {
		t.Errorf("%+v", end)
	}
	w.settled()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestBytesOnTheRequestOfAFinishedJobLeaveItAsItIs(t *testing.T) {
	w := newWorld(t, nil)
	stop := w.schedule(Default(), Deps{})
	w.submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.ended("j")
	w.settled()
	before := w.folded("j").View()
	w.raw(w.bus.Names().Event("j", events.KindJobRequested), "rubbish{")
	kept := w.saved("j", func(s *graph.State) bool { return s.Seq > before.Seq })
	if kept.Status != events.Finished || kept.RequestSeq != before.RequestSeq || kept.Goal != before.Goal {
		t.Errorf("kept: %+v", kept)
	}
	if again := w.folded("j").View(); again.Status != events.Finished || again.Seq != kept.Seq {
		t.Errorf("the log has %s at %d, the state is at %d", again.Status, again.Seq, kept.Seq)
	}
	w.settled()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAStateOfAnotherLogIsThrownAwayAndFoldedAgain(t *testing.T) {
	w := newWorld(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "d" {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	})
	stop := w.schedule(Default(), Deps{})
	w.submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.saved("j", func(s *graph.State) bool { return s.Progress.Done == 3 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	value, _, err := w.bus.State().GetLeader(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	rolled := strings.Replace(string(value), `"status":"RUNNING"`, `"status":"FAILED"`, 1)
	rolled = strings.Replace(rolled, `"event_id":"`, `"event_id":"of another log `, 1)
	if rolled == string(value) {
		t.Fatal("the state has another form")
	}
	if _, err := w.bus.State().Put(t.Context(), "j", []byte(rolled), 0); err != nil {
		t.Fatal(err)
	}
	stop = w.schedule(Default(), Deps{})
	w.raw(w.bus.Names().RunEvent("j", events.KindSubJobReported, "d", 1), `{"outcome":"SUCCESS","output":1}`)
	if end := w.ended("j"); end.Status != events.Finished || string(end.Result) != "1" {
		t.Errorf("%+v", end)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestBytesOnTheControlSubjectLeaveTheJobGoing(t *testing.T) {
	w := newWorld(t, func(*events.Work) *events.SubJobReported { return &events.SubJobReported{Outcome: events.Success} })
	stop := w.schedule(Default(), Deps{})
	for _, body := range []string{"", "{}}", `{"type":"nonsense"}`, `{"specversion":"1.0","type":"nonsense","data":{}}`} {
		w.raw(w.bus.Names().Control("j"), body)
	}
	w.submit(events.Request{ID: "k", Goal: "g", Plan: diamond()})
	w.await(t.Context(), w.bus.Names().JobEvents("k"), func(e events.Event) bool { return e.Kind == events.KindGraphCreated })
	w.raw(w.bus.Names().Control("k"), "{}}")
	w.raw(w.bus.Names().Control("k"), `{"specversion":"1.0","type":"nonsense","data":{}}`)
	if end := w.ended("k"); end.Status != events.Finished {
		t.Errorf("the job: %+v", end)
	}
	w.settled()
	if err := stop(); err != nil {
		t.Error(err)
	}
}
