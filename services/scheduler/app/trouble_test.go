package app

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAnUnknownKindQuarantinesItsJobAloneAndARecoverTriesAgain(t *testing.T) {
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "c" && work.Job == "bad" {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	})
	w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "bad", Goal: "g", Plan: diamond()})
	w.Await(w.Names.JobEvents("bad"), func(e events.Event) bool { return e.SubJob == "b" })
	w.Publish(strings.TrimSuffix(w.Names.JobEvents("bad"), ">")+"graph.rewoven.x",
		[]byte(`{"specversion":"1.0","type":"io.jobgraph.graph.rewoven.v1","data":{}}`))
	w.Submit(events.Request{ID: "good", Goal: "g", Plan: diamond()})
	if end := w.Ended("good"); end.Status != events.Finished {
		t.Errorf("the other job: %+v", end)
	}
	kept := w.quarantined("bad")
	if kept.Code != events.CodeMustUnderstand || !strings.Contains(kept.Hint, "upgrade") {
		t.Errorf("mark: %+v", kept)
	}
	w.settled()
}

func (w *workers) quarantined(job string) *events.Fault {
	w.Helper()
	found := make(chan *events.Fault, 1)
	stop := musttest.Get(w.Bus.State().Watch(w.Context(), nil, func(e bus.Entry) {
		var s struct {
			Quarantined *events.Fault `json:"quarantined"`
		}
		if e.Key == job && json.Unmarshal(e.Value, &s) == nil && s.Quarantined != nil {
			select {
			case found <- s.Quarantined:
			default:
			}
		}
	}))(w)
	defer stop()
	select {
	case f := <-found:
		return f
	case <-time.After(w.Patience):
		w.Fatalf("job %s is not quarantined", job)
		return nil
	}
}

func TestAMissingBlobQuarantinesItsJobUntilItIsRestored(t *testing.T) {
	w := newWorkers(t, nil)
	names := w.Names
	w.schedule(Default(), Deps{})
	w.stop() // No planner runs.
	w.Submit(events.Request{ID: "j", Goal: "g"})
	w.Await(names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindJobPlanning })
	text := diamond()
	ref := musttest.Get(w.Bus.Blobs().Put(t.Context(), "j", text))(t)
	musttest.Do(t, w.Bus.Blobs().Delete(t.Context(), "j"))
	body := musttest.JSON(t, events.GraphCreated{PlanRef: &ref})
	w.Publish(names.RunEvent("j", events.KindGraphCreated, events.PlanID, 1), body)
	if f := w.quarantined("j"); f.Code != events.CodeMissingBlob {
		t.Errorf("mark: %+v", f)
	}
	musttest.Get(w.Bus.Blobs().Put(t.Context(), "j", text))(t)
	w.Tell(events.Event{Kind: events.KindRecoverRequested, Job: "j", Data: &events.RecoverRequested{}})
	w.saved("j", func(s *graph.State) bool { return s.Status == events.Running })
}

func TestEventsOfAJobThatDoesNotExistArePurged(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	names := w.Names
	w.Publish(names.RunEvent("ghost", events.KindSubJobReported, "a", 1), []byte(`{"outcome":"SUCCESS"}`))
	w.Publish(names.Control("ghost"), []byte(`{"type":"stop.requested"}`))
	w.Submit(events.Request{ID: "real", Goal: "g", Plan: diamond()})
	w.Ended("real")
	w.settled()
	subjects, err := w.Bus.Streams().Subjects(t.Context(), names.Log, names.JobEvents("ghost"))
	if err != nil || len(subjects) > 0 {
		t.Errorf("left: %v, %v", subjects, err)
	}
}

func TestAnyBytesInTheLogNeverStopTheLoop(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	names := w.Names
	prefix := strings.TrimSuffix(names.JobEvents("x"), ">")
	for _, body := range []string{"", "null", "[]", "{", "\x00\xff", `{"type":7}`, `{"outcome":"MAYBE"}`, `{"subjob":{}}`} {
		for _, subject := range []string{
			prefix + "control", prefix + "job.requested", prefix + "subjob.reported.a.1", prefix + "subjob.reported.a.zero",
			prefix + "timer.fired", prefix + "job.finished", prefix + "a", "jobs.event.99.x.job.requested", "jobs.event.x",
		} {
			w.Publish(subject, []byte(body))
		}
	}
	w.Submit(events.Request{ID: "real", Goal: "g", Plan: diamond()})
	if end := w.Ended("real"); end.Status != events.Finished {
		t.Errorf("%+v", end)
	}
	w.settled()
}

func TestBytesOnTheRequestOfAFinishedJobLeaveItAsItIs(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.Ended("j")
	w.settled()
	before := w.Folded("j").View()
	w.Publish(w.Names.Event("j", events.KindJobRequested), []byte("rubbish{"))
	kept := w.saved("j", func(s *graph.State) bool { return s.Seq > before.Seq })
	if kept.Status != events.Finished || kept.RequestSeq != before.RequestSeq || kept.Goal != before.Goal {
		t.Errorf("kept: %+v", kept)
	}
	if again := w.Folded("j").View(); again.Status != events.Finished || again.Seq != kept.Seq {
		t.Errorf("the log has %s at %d, the state is at %d", again.Status, again.Seq, kept.Seq)
	}
	w.settled()
}

func TestAStateOfAnotherLogIsThrownAwayAndFoldedAgain(t *testing.T) {
	w, value := newHalfway(t)
	rolled := strings.Replace(string(value), `"status":"RUNNING"`, `"status":"FAILED"`, 1)
	rolled = strings.Replace(rolled, `"event_id":"`, `"event_id":"of another log `, 1)
	if rolled == string(value) {
		t.Fatal("the state has another form")
	}
	musttest.Get(w.Bus.State().Put(t.Context(), "j", []byte(rolled), 0))(t)
	w.schedule(Default(), Deps{})
	w.Publish(w.Names.RunEvent("j", events.KindSubJobReported, "d", 1), []byte(`{"outcome":"SUCCESS","output":1}`))
	if end := w.Ended("j"); end.Status != events.Finished || string(end.Result) != "1" {
		t.Errorf("%+v", end)
	}
}

func TestBytesOnTheControlSubjectLeaveTheJobGoing(t *testing.T) {
	w := newWorkers(t, func(*events.Work) *events.SubJobReported { return &events.SubJobReported{Outcome: events.Success} })
	w.schedule(Default(), Deps{})
	for _, body := range []string{"", "{}}", `{"type":"nonsense"}`, `{"specversion":"1.0","type":"nonsense","data":{}}`} {
		w.Publish(w.Names.Control("j"), []byte(body))
	}
	w.Submit(events.Request{ID: "k", Goal: "g", Plan: diamond()})
	w.Await(w.Names.JobEvents("k"), func(e events.Event) bool { return e.Kind == events.KindGraphCreated })
	w.Publish(w.Names.Control("k"), []byte("{}}"))
	w.Publish(w.Names.Control("k"), []byte(`{"specversion":"1.0","type":"nonsense","data":{}}`))
	if end := w.Ended("k"); end.Status != events.Finished {
		t.Errorf("the job: %+v", end)
	}
	w.settled()
}
