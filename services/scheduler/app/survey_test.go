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
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// noted returns the note of /readyz about the log, "" for none.
func noted(t *testing.T, scheduler *servicetest.Service) string {
	t.Helper()
	if reasons := scheduler.Health.Reasons(t.Context()); len(reasons) > 0 {
		t.Errorf("not ready: %v", reasons)
	}
	notes := scheduler.Health.Notes()
	if at := slices.IndexFunc(notes, func(r host.Reason) bool { return r.Name == "log" }); at >= 0 {
		return notes[at].Reason
	}
	return ""
}

// A log that was truncated while the scheduler runs, or before, is noted until the jobs are given up.
func TestReadinessNotesALogThatLacksWhatStatesHaveSeen(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, func(*events.Work) *events.SubJobReported { return nil })
		scheduler := w.schedule(Default(), Deps{})
		for _, id := range []string{"cut", "whole"} {
			w.Submit(events.Request{ID: id, Goal: "g", Plan: diamond()})
			w.saved(id, func(s *graph.State) bool { return s.Status == events.Running })
		}
		<-time.After(2 * surveyEvery) // In virtual time, like everything below.
		if text := noted(t, scheduler); text != "" {
			t.Errorf("a whole log: %s", text)
		}
		names := w.Names
		musttest.Do(t, w.Bus.Streams().Purge(t.Context(), names.Log, names.JobEvents("cut")))
		<-time.After(2 * surveyEvery)
		if text := noted(t, scheduler); !strings.Contains(text, "1 of 2 jobs have seen: cut: the log does not have its request") {
			t.Errorf("a log that was cut: %q", text)
		}
		if err := scheduler.Stop(); err != nil {
			t.Error(err)
		}
		scheduler = w.schedule(Default(), Deps{})
		<-time.After(surveyEvery / 2)
		if text := noted(t, scheduler); !strings.Contains(text, "cut: ") {
			t.Errorf("after another start: %q", text)
		}
		if answer, fault := w.ask("delete", "cut"); fault != nil {
			t.Errorf("%s %v", answer, fault)
		}
		<-time.After(2 * surveyEvery)
		if text := noted(t, scheduler); text != "" {
			t.Errorf("after the job was given up: %s", text)
		}
	})
}
