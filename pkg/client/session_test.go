package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// keep writes the record of a session as the scheduler would.
func keep(t *testing.T, c *client.Client, id, record string) {
	t.Helper()
	musttest.Get(c.Bus().Sessions().Put(t.Context(), bus.SessionKey(id), []byte(record), 0))(t)
}

// proves C38
func TestSessionsAreReadWithoutAScheduler(t *testing.T) {
	c := connect(t)
	keep(t, c, "a talk", `{"id":"a talk","user":"ann","title":"T","state":"waiting","updated":"2026-01-01T00:00:00Z","total":1,"threads":["t"],"jobs":[{"id":"j1","goal":"g","status":"WAITING","asking":true}],"later":1}`)
	keep(t, c, "s2", `{"id":"s2","state":"active","updated":"2026-01-02T00:00:00Z","total":1,"jobs":[{"id":"j2","status":"RUNNING"}]}`)
	keep(t, c, "j2~a", `{"id":"j2~a","parent":"s2","state":"active","updated":"2026-01-03T00:00:00Z","total":1,"jobs":[{"id":"j2","subjob":"a","status":"READY"}]}`)
	keep(t, c, "empty", `{"id":"empty","jobs":[]}`)
	keep(t, c, "odd", `not ours`)
	held := `{"turn":0,"jobs":[{"job":"j2","limit":1,"held":["a/1"]}]}` // The slots of a key that jobs share.
	musttest.Get(c.Bus().Sessions().Put(t.Context(), bus.SlotKey("customer 42"), []byte(held), 0))(t)
	for _, q := range []struct {
		query client.SessionQuery
		want  []string
	}{
		{client.SessionQuery{}, []string{"s2", "a talk"}},
		{client.SessionQuery{All: true}, []string{"j2~a", "s2", "a talk"}},
		{client.SessionQuery{User: "ann"}, []string{"a talk"}},
		{client.SessionQuery{State: client.SessionStopped}, nil},
	} {
		list := musttest.Get(c.Sessions().List(t.Context(), q.query))(t)
		var ids []string
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		if diff := cmp.Diff(q.want, ids); diff != "" {
			t.Errorf("%+v: %s", q.query, diff)
		}
	}
	if _, err := c.Sessions().As("bob").Get(t.Context(), "a talk"); !errors.Is(err, bus.ErrNotPermitted) {
		t.Errorf("as another user: %v", err)
	}
	s, err := c.Sessions().As("ann").Get(t.Context(), "a talk")
	if err != nil || s.Jobs[0].Status != events.Waiting || !s.Jobs[0].Asking || s.Threads[0] != "t" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, id := range []string{"nobody", "empty", "odd"} {
		if _, err := c.Sessions().Get(t.Context(), id); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := c.Sessions().Rename(t.Context(), "s2", "x"); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("without a scheduler: %v", err)
	}
}

func TestWhatIsDoneWithASessionIsTheSchedulersToDo(t *testing.T) {
	c := connect(t)
	heard := map[string]string{}
	answer := func(verb, body string, fault *events.Fault) bus.Endpoint {
		return func(_ context.Context, request []byte) ([]byte, *events.Fault) {
			heard[verb] = string(request)
			return []byte(body), fault
		}
	}
	stop := musttest.Get(c.Bus().Services().Serve("test", "0.0.1", nil, map[string]bus.Endpoint{
		"sessions.rename": answer("rename", "", &events.Fault{Code: events.CodeNotFound, Message: "there is none"}),
		"sessions.stop":   answer("stop", `{"id":"s","stopped":["j1"]}`, nil),
		"sessions.delete": answer("delete", "", &events.Fault{Code: events.CodeConflict, Message: "it goes on"}),
	}, nil))(t)
	defer stop()
	if err := c.Sessions().Rename(t.Context(), "s", "T"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if jobs, err := c.Sessions().Stop(t.Context(), "s", "enough", "ann"); err != nil || len(jobs) != 1 || jobs[0] != "j1" {
		t.Error(jobs, err)
	}
	if _, err := c.Sessions().As("ann").Delete(t.Context(), "s", true); !errors.Is(err, client.ErrConflict) {
		t.Error(err)
	}
	want := map[string]any{"rename": map[string]any{"id": "s", "title": "T"}, "stop": map[string]any{"id": "s", "reason": "enough", "by": "ann"}, "delete": map[string]any{"id": "s", "jobs": true, "user": "ann"}}
	got := map[string]any{}
	for verb, body := range heard {
		var value any
		musttest.Decode(t, []byte(body), &value)
		got[verb] = value
	}
	musttest.Equal(t, want, got)
}
