package route_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// planned creates a job of three steps, the first of which is done; it returns the sequences of its events.
func (s *site) planned(job string) []uint64 {
	s.Helper()
	plan := &events.Plan{Title: "Three", SubJobs: []events.SubJob{
		{ID: "a", Goal: "a", Expert: "e", Pool: "p"}, {ID: "b", Goal: "b", Expert: "e", Pool: "p", Dependencies: []string{"a"}}, {ID: "c", Goal: "c", Expert: "e", Pool: "p", Dependencies: []string{"a"}},
	}}
	var seqs []uint64
	for _, e := range []events.Event{
		{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{ID: job, Goal: "three"}, Rules: events.Rules{Version: 1, MaxSteps: 100, Retries: 1}}},
		{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: plan}},
		{Kind: events.KindSubJobStarted, SubJob: "a", Run: 1, Data: &events.SubJobStarted{Owner: "runner-1"}},
		{Kind: events.KindSubJobReported, SubJob: "a", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"done"`), Spent: events.Spent{Tokens: 7}}},
	} {
		seqs = append(seqs, s.state(job, e))
	}
	return seqs
}

func (s *site) graph(query string) (g verb.Graph) {
	s.Helper()
	status, body := s.ask(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/graph"+query, "")
	if err := json.Unmarshal([]byte(body), &g); status != http.StatusOK || err != nil {
		s.Fatal(status, body, err)
	}
	return g
}

func statesOf(g verb.Graph) string {
	var list []string
	for _, n := range g.SubJobs {
		list = append(list, n.ID+"="+n.State)
	}
	return strings.Join(list, " ")
}

func TestAGraphHasPlacesAndStatesAtAnyEvent(t *testing.T) {
	s := open(t, nil, nil)
	s.planned("other")
	seqs := s.planned("j")
	for query, want := range map[string]string{
		"":                            "a=finished b=ready c=ready",
		fmt.Sprint("?at=", seqs[1]):   "a=ready b=planned c=planned",
		fmt.Sprint("?at=", seqs[2]):   "a=running b=planned c=planned",
		fmt.Sprint("?at=", seqs[0]):   "",
		fmt.Sprint("?at=", 1_000_000): "a=finished b=ready c=ready",
	} {
		g := s.graph(query)
		if got := statesOf(g); got != want || g.Head != seqs[3] {
			t.Errorf("%s: %s, want %s; head %d", query, got, want, g.Head)
		}
	}
	g := s.graph("")
	if a, b := g.SubJobs[0], g.SubJobs[1]; a.Owner != "runner-1" || a.Tokens != 7 || b.Rank != 1 || b.Y <= a.Y || a.W == 0 || len(g.Edges) != 2 || g.Width == 0 {
		t.Errorf("%+v", g)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, fmt.Sprint("/api/v1/jobs/j/graph?at=", seqs[0]-1), ""), http.StatusNotFound, events.CodeNotFound)
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/nobody/graph", ""), http.StatusNotFound, events.CodeNotFound)
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/graph?format=gif", ""), http.StatusBadRequest, events.CodeInvalid)
}

func TestAPageThatFollowsAGraphGetsWhatChanged(t *testing.T) {
	s := open(t, nil, nil)
	s.planned("j")
	g := s.graph("")
	s.state("j", events.Event{Kind: events.KindSubJobStarted, SubJob: "c", Run: 1, Data: &events.SubJobStarted{Owner: "runner-2"}})
	part := s.graph(fmt.Sprint("?since=", g.Seq))
	if !part.Partial || statesOf(part) != "c=running" || part.Counts["running"] != 1 || part.Counts["finished"] != 1 {
		t.Errorf("%+v", part)
	}
}

func TestAGraphThatDidNotChangeIsNotSentAgain(t *testing.T) {
	s := open(t, nil, nil)
	s.planned("j")
	for _, path := range []string{"/graph", "/timeline"} {
		r := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j"+path, "")
		first, _ := s.do(r)
		r = s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j"+path, "")
		r.Header.Set("If-None-Match", first.Header.Get("ETag"))
		if again, body := s.do(r); again.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s: %d %s", path, again.StatusCode, body)
		}
	}
	first, _ := s.do(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/graph", ""))
	s.state("j", events.Event{Kind: events.KindSubJobStarted, SubJob: "c", Run: 1, Data: &events.SubJobStarted{}})
	r := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/graph", "")
	r.Header.Set("If-None-Match", first.Header.Get("ETag"))
	if again, _ := s.do(r); again.StatusCode != http.StatusOK {
		t.Errorf("a graph that changed: %d", again.StatusCode)
	}
}

func TestATimelineHasEveryEventAndTheLayoutOfEveryVersion(t *testing.T) {
	s := open(t, nil, nil)
	seqs := s.planned("j")
	status, body := s.ask(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/timeline?calls=true", "")
	var l verb.Timeline
	if err := json.Unmarshal([]byte(body), &l); status != http.StatusOK || err != nil {
		t.Fatal(status, body, err)
	}
	if len(l.Events) != len(seqs) || len(l.Layouts) != 1 || l.Layouts[0].Seq != seqs[1] || len(l.Layouts[0].SubJobs) != 3 || len(l.Moves) < 5 || l.Seq != seqs[3] {
		t.Errorf("%s", body)
	}
}

func TestAJobThatWasDeletedAndMadeAgainHasItsOwnGraph(t *testing.T) {
	s := open(t, nil, nil)
	s.planned("j")
	s.graph("")
	musttest.Do(t, s.bus.Retention().PurgeJob(t.Context(), "j"))
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/graph", ""), http.StatusNotFound, events.CodeNotFound)
	seqs := s.planned("j")
	if g := s.graph(""); g.Seq != seqs[3] || statesOf(g) != "a=finished b=ready c=ready" {
		t.Errorf("%+v", g)
	}
}
