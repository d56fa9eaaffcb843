package app

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// forge changes fields of a saved state, unnoticed by all schedulers, and computes the matching digest.
func (w *workers) forge(job string, fields map[string]any) {
	w.Helper()
	value, _, err := w.Bus.State().GetLeader(w.Context(), job)
	if err != nil {
		w.Fatal(err)
	}
	var state map[string]any
	musttest.Decode(w, kept.Bare(value), &state)
	for name, v := range fields {
		state[name] = v
	}
	text := musttest.Get(json.Marshal(state))(w)
	h := *kept.Read(value)
	h.Digest = kept.Digest(text)
	text = musttest.Get(kept.Compose(h, nil, text))(w)
	musttest.Get(w.Bus.State().Put(w.Context(), job, text, 0))(w)
}

// A saved state with an end that the log does not have deletes nothing, and the job continues to its end.
func TestAForgedEndDeletesNoRunningJob(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		held := make(chan struct{})
		w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
			if work.SubJob == "d" {
				<-held
			}
			return &events.SubJobReported{Outcome: events.Success}
		})
		settings := Default()
		settings.Retention = time.Minute
		scheduler := w.schedule(settings, Deps{})
		w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
		w.saved("j", func(s *graph.State) bool { return s.Progress.Done == 3 })
		musttest.Do(t, scheduler.Stop())
		w.forge("j", map[string]any{"status": events.Finished, "ended": time.Now().Add(-time.Hour)})
		w.schedule(settings, Deps{})
		w.Publish(w.Names.Event("j", events.KindTimerFired, graph.TurnTimer()), []byte(`{"timer":"`+graph.TurnTimer()+`"}`))
		<-time.After(10 * time.Second) // In virtual time: long enough for a deletion.
		if n := len(w.Facts("j", events.KindJobRequested)); n != 1 {
			t.Errorf("the log has %d requests of the running job", n)
		}
		if _, _, err := w.Bus.State().GetLeader(t.Context(), "j"); err != nil {
			t.Errorf("its state: %v", err)
		}
		close(held)
		if end := w.Ended("j"); end.Status != events.Finished {
			t.Errorf("the end is %+v", end)
		}
	})
}

// A job is kept for its full retention time from the end in the log, whatever its saved state says.
func TestAForgedTimeOfItsEndDeletesNoJobEarly(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		settings := Default()
		settings.Retention = time.Hour
		scheduler := w.schedule(settings, Deps{})
		w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
		w.Ended("j")
		w.settled()
		musttest.Do(t, scheduler.Stop())
		w.forge("j", map[string]any{"ended": time.Now().Add(-2 * time.Hour)})
		w.schedule(settings, Deps{})
		names := w.Names
		w.Publish(names.Event("j", events.KindTimerFired, graph.TurnTimer()), []byte(`{"timer":"`+graph.TurnTimer()+`"}`))
		<-time.After(10 * time.Second) // In virtual time.
		w.settled()
		if n := len(w.Facts("j", events.KindJobRequested)); n != 1 {
			t.Errorf("the log has %d requests of the job", n)
		}
		<-time.After(2 * time.Hour)
		w.settled()
		if n := len(w.Facts("j", events.KindJobRequested)); n != 0 {
			t.Errorf("the log has %d requests of a job whose time is over", n)
		}
	})
}

// A request to delete a job is refused while the log does not have its end.
func TestAForgedEndDoesNotLetARunningJobBeDeleted(t *testing.T) {
	w := newWorkers(t, func(*events.Work) *events.SubJobReported { return nil })
	w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.saved("j", func(s *graph.State) bool { return s.Status == events.Running })
	w.forge("j", map[string]any{"status": events.Finished, "ended": time.Now().Add(-time.Hour)})
	if answer, fault := w.ask("delete", "j"); fault == nil || fault.Code != events.CodeConflict {
		t.Errorf("%s %v", answer, fault)
	}
	if _, err := w.Bus.Streams().LastOn(t.Context(), w.Names.Log, w.Names.Event("j", events.KindJobRequested)); err != nil {
		t.Errorf("the request: %v", err)
	}
}

// A state that was edited by hand does not match its digest: readers see the job as its log has it, and the job continues at once.
func TestASavedStateThatWasChangedByHandIsFoldedFromTheLog(t *testing.T) {
	w := newWorkers(t, func(*events.Work) *events.SubJobReported { return nil })
	scheduler := w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.saved("j", func(s *graph.State) bool { return s.Status == events.Running })
	w.rewrite("j", `"status":"RUNNING","goal"`, `"status":"FAILED","goal"`)
	if answer, fault := w.ask("get", "j"); fault != nil || !strings.Contains(answer, `"status":"RUNNING","goal"`) {
		t.Errorf("%s %v", answer, fault)
	}
	musttest.Do(t, scheduler.Stop())
	w.schedule(Default(), Deps{})
	w.Tell(events.Event{Kind: events.KindStopRequested, Job: "j", Data: &events.StopRequested{}})
	if end := w.Ended("j"); end.Status != events.Stopped {
		t.Errorf("the end is %+v", end)
	}
}

// rewrite changes the text of a saved state, unnoticed by all schedulers.
func (w *workers) rewrite(job, old, other string) {
	w.Helper()
	value, _, err := w.Bus.State().GetLeader(w.Context(), job)
	if err != nil || strings.Count(string(value), old) != 1 {
		w.Fatalf("%s is not once in %.300s, %v", old, value, err)
	}
	musttest.Get(w.Bus.State().Put(w.Context(), job, []byte(strings.Replace(string(value), old, other, 1)), 0))(w)
}

// newHalfway has a job whose last step was not reported, no scheduler, and the state that the last one saved.
func newHalfway(t *testing.T) (w *workers, state []byte) {
	t.Helper()
	w = newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "d" {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	})
	scheduler := w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.saved("j", func(s *graph.State) bool { return s.Progress.Done == 3 })
	musttest.Do(t, scheduler.Stop())
	state, _, err := w.Bus.State().GetLeader(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	return w, state
}

// A state without a digest was written by the previous release: it is folded once and saved with a digest, and no event is
// published again.
func TestAStateOfTheReleaseBeforeIsHeldAgainstTheLogAndSavedWithADigest(t *testing.T) {
	w, value := newHalfway(t)
	digest := kept.Read(value).Digest
	w.rewrite("j", `,"digest":"`+digest+`"`, "")
	told := func() (n int) {
		for _, e := range w.Facts("j", events.KindJobAdvanced) {
			n += len(e.Data.(*events.JobAdvanced).Transitions)
		}
		return n
	}
	before := told()
	scheduler := w.schedule(Default(), Deps{})
	w.Publish(w.Names.Event("j", events.KindTimerFired, graph.TurnTimer()), []byte(`{"timer":"`+graph.TurnTimer()+`"}`))
	w.Await(w.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindTimerFired })
	w.settled()
	if err := scheduler.Stop(); err != nil {
		t.Error(err)
	}
	value, _, err := w.Bus.State().GetLeader(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	if h := kept.Read(value); h == nil || h.Check(kept.Bare(value)) != kept.Whole {
		t.Errorf("the header is %+v", h)
	}
	if after := told(); before == 0 || after != before {
		t.Errorf("%d transitions were told, %d by now", before, after)
	}
}

// The saved state is all that is left of a job in motion whose log is gone, so it is kept.
func TestTheStateOfAJobInMotionWhoseLogIsGoneIsKept(t *testing.T) {
	w := newWorkers(t, func(*events.Work) *events.SubJobReported { return nil })
	scheduler := w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.saved("j", func(s *graph.State) bool { return s.Status == events.Running })
	w.settled()
	musttest.Do(t, scheduler.Stop())
	names := w.Names
	musttest.Do(t, w.Bus.Streams().Purge(t.Context(), names.Log, names.JobEvents("j")))
	w.schedule(Default(), Deps{})
	w.Publish(names.RunEvent("j", events.KindSubJobReported, "a", 1), []byte(`{"outcome":"SUCCESS"}`))
	w.settled()
	if _, _, err := w.Bus.State().GetLeader(t.Context(), "j"); err != nil {
		t.Errorf("the state: %v", err)
	}
	if _, err := w.Bus.Streams().LastOn(t.Context(), names.Log, names.JobEvents("j")); err != nil {
		t.Errorf("what came since: %v", err)
	}
	if answer, fault := w.ask("delete", "j"); fault != nil {
		t.Errorf("deleted by somebody: %s %v", answer, fault)
	}
}
