package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// noted gives what /readyz notes of the log, "" for nothing.
func (w *world) noted() string {
	w.t.Helper()
	if reasons := w.health.Reasons(w.t.Context()); len(reasons) > 0 {
		w.t.Errorf("not ready: %v", reasons)
	}
	notes := w.health.Notes()
	if at := slices.IndexFunc(notes, func(r host.Reason) bool { return r.Name == "log" }); at >= 0 {
		return notes[at].Reason
	}
	return ""
}

// A log that was cut while the scheduler runs, or before it did, is noted until the jobs are given up.
func TestReadinessNotesALogThatLacksWhatStatesHaveSeen(t *testing.T) {
	bustest.Outside(t)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(*events.Work) *events.SubJobReported { return nil })
		stop := w.schedule(Default(), Deps{})
		for _, id := range []string{"cut", "whole"} {
			w.submit(events.Request{ID: id, Goal: "g", Plan: diamond()})
			w.saved(id, func(s *graph.State) bool { return s.Status == events.Running })
		}
		<-time.After(2 * surveyEvery) // In virtual time, like all that follows.
		if text := w.noted(); text != "" {
			t.Errorf("a whole log: %s", text)
		}
		names := w.bus.Names()
		if err := w.bus.Streams().Purge(t.Context(), names.Log, names.JobEvents("cut")); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * surveyEvery)
		if text := w.noted(); !strings.Contains(text, "1 of 2 jobs have seen: cut: the log does not have its request") {
			t.Errorf("a log that was cut: %q", text)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = w.schedule(Default(), Deps{})
		<-time.After(surveyEvery / 2)
		if text := w.noted(); !strings.Contains(text, "cut: ") {
			t.Errorf("after another start: %q", text)
		}
		if answer, fault := w.ask("delete", "cut"); fault != nil {
			t.Errorf("%s %v", answer, fault)
		}
		<-time.After(2 * surveyEvery)
		if text := w.noted(); text != "" {
			t.Errorf("after the job was given up: %s", text)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}
