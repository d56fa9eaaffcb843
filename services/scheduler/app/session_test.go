package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/session"
)

// talking is a job of a session; one of its steps is handed off, and fails.
func talking() scene {
	handed := sub("a")
	handed.Handoff, handed.Title = true, "The first task"
	none := 0
	return scene{
		name: "session", status: events.Failed,
		request: events.Request{ID: "c1", Goal: "talk", Session: "s1", Thread: "t1", User: "ann", Plan: plan(handed, sub("b", "a")), Limits: events.Limits{Retries: &none}},
		script: func(w *events.Work) *events.SubJobReported {
			if w.SubJob == "a" && (w.Session != "c1~a" || w.Thread != "t1") {
				return &events.SubJobReported{Outcome: events.Success}
			}
			return &events.SubJobReported{Outcome: events.ExecutionError, Lesson: "no"}
		},
		check: func(w *workers) {
			want := []session.Record{
				{ID: "s1", User: "ann", Title: "The first task", State: session.Active, Total: 1, Threads: []string{"t1"}, Jobs: []session.Line{
					{ID: "c1", Thread: "t1", Goal: "talk", Status: events.Failed, Handed: []string{"c1~a"}},
				}},
				{ID: "c1~a", Parent: "s1", User: "ann", Title: "The first task", State: session.Active, Total: 1, Threads: []string{"t1"}, Jobs: []session.Line{
					{ID: "c1", SubJob: "a", Thread: "t1", Goal: "The first task", Status: events.Failed},
				}},
			}
			musttest.Equal(w, want, []session.Record{w.session("s1"), w.session("c1~a")})
			musttest.Equal(w, []string{"session.started READY", "session.ended FAILED"}, w.moves("c1"))
			whole := []string{
				"component subagent_conversation", "component subagent_conversation", "message talk", "plan 1. The first task (noop)\n2. do b (noop)",
				"result no", "warning no",
			}
			child := []string{"component subagent_conversation", "component subagent_conversation", "message The first task", "warning no"}
			said := [][]string{w.conversation("s1"), w.conversation("c1~a")}
			if said[0][0] != "message talk" || said[0][len(said[0])-1] != "result no" {
				w.Errorf("said in this order: %q", said[0])
			}
			for i := range said {
				slices.Sort(said[i]) // A worker may be quicker than the scheduler.
			}
			musttest.Equal(w, [][]string{whole, child}, said)
		},
	}
}

// session reads a record, without its times and sequences.
func (w *workers) session(id string) session.Record {
	w.Helper()
	var r session.Record
	value, _, err := w.Bus.Sessions().GetLeader(w.Context(), bus.SessionKey(id))
	if err == nil {
		err = json.Unmarshal(value, &r)
	}
	if err != nil {
		w.Error(err)
	}
	if r.Updated.IsZero() {
		w.Errorf("session %s was never updated", id)
	}
	r.Created, r.Updated = time.Time{}, time.Time{}
	for i := range r.Jobs {
		l := &r.Jobs[i]
		if l.Status.Terminal() && l.SubJob == "" && l.Ended.IsZero() {
			w.Errorf("job %s has ended, at an unknown time", l.ID)
		}
		l.Created, l.Ended, l.Seq = time.Time{}, time.Time{}, 0
	}
	return r
}

// conversation lists the recorded conversation of a session, including any repeats.
func (w *workers) conversation(session string) (list []string) {
	w.Helper()
	for e, err := range w.Bus.Conversations().After(w.Context(), session, 0) {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, strings.TrimSpace(string(e.Type)+" "+e.Component+e.Text))
	}
	return list
}

// moves lists the log's events about sessions.
func (w *workers) moves(job string) (list []string) {
	w.Helper()
	for e, err := range w.Bus.Log().EventsOf(w.Context(), job, 0) {
		if err != nil {
			w.Fatal(err)
		}
		if d, ok := e.Data.(*events.SessionMoved); ok {
			list = append(list, fmt.Sprint(e.Kind, " ", d.Status))
		}
	}
	return list
}

// proves V28
// proves V-T14
func TestSessionsAreListedShownRenamedStoppedAndDeleted(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, func(w *events.Work) *events.SubJobReported {
			if strings.HasPrefix(w.Job, "hang") {
				return nil
			}
			return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"done"`)}
		})
		w.schedule(Default(), Deps{})
		submit := func(id, session, user string) {
			t.Helper()
			if answer, fault := w.ask("submit", fmt.Sprintf(`{"id":%q,"session":%q,"user":%q,"goal":"goal of %s","plan":%s}`, id, session, user, id, plan(sub("a")))); fault != nil {
				t.Fatalf("%s: %v", answer, fault)
			}
		}
		for _, id := range []string{"j1", "j2", "j3"} {
			submit(id, "long talk", "ann")
			w.Ended(id)
			w.settled() // What a job said is recorded beside the loop: that of the next one must not come between.
		}
		<-time.After(time.Second) // Virtual: what changes later is listed first.
		submit("other", "s2", "bob")
		w.Ended("other")
		w.settled()
		musttest.Get(w.Bus.Sessions().Put(t.Context(), bus.SlotKey("customer 42"), []byte(`{"turn":0,"jobs":[{"job":"other","limit":1,"held":["a/1"]}]}`), 0))(t)

		list := func(query string) (ids []string) {
			t.Helper()
			answer, fault := w.ask("sessions.list", query)
			var got struct{ Sessions []session.Record }
			if err := json.Unmarshal([]byte(answer), &got); fault != nil || err != nil {
				t.Fatalf("%s %v %v", answer, fault, err)
			}
			for _, s := range got.Sessions {
				ids = append(ids, s.ID)
			}
			return ids
		}
		for query, want := range map[string][]string{
			"": {"s2", "long talk"}, `{"user":"ann"}`: {"long talk"}, `{"state":"waiting"}`: nil, `{"limit":1}`: {"s2"}, `{"limit":1,"offset":1}`: {"long talk"},
			`{"offset":9}`: nil, `{"user":"ann","state":"active","all":true}`: {"long talk"},
		} {
			if diff := cmp.Diff(want, list(query)); diff != "" {
				t.Errorf("list %s: %s", query, diff)
			}
		}
		show := func(query string) (ids []string) {
			t.Helper()
			answer, fault := w.ask("sessions.show", query)
			var got session.Record
			if err := json.Unmarshal([]byte(answer), &got); fault != nil || err != nil {
				t.Fatalf("%s %v %v", answer, fault, err)
			}
			for _, l := range got.Jobs {
				ids = append(ids, l.ID)
			}
			return ids
		}
		for query, want := range map[string][]string{
			`{"id":"long talk","user":"ann"}`: {"j1", "j2", "j3"}, `{"id":"long talk","user":"ann","limit":2}`: {"j2", "j3"},
			`{"id":"long talk","user":"ann","limit":2,"before":"j2"}`: {"j1"}, `{"id":"s2","user":"bob"}`: {"other"},
		} {
			if diff := cmp.Diff(want, show(query)); diff != "" {
				t.Errorf("show %s: %s", query, diff)
			}
		}

		talk := func(query string) (list []string, first uint64, earlier bool) {
			t.Helper()
			answer, fault := w.ask("sessions.conversation", query)
			var got bus.Page
			if err := json.Unmarshal([]byte(answer), &got); fault != nil || err != nil {
				t.Fatalf("%s %v %v", answer, fault, err)
			}
			for _, e := range got.Items {
				list = append(list, string(e.Type)+" "+e.Job)
			}
			return list, got.Items[0].Seq, got.Earlier
		}
		last, first, earlier := talk(`{"id":"long talk","user":"ann","limit":2}`)
		if diff := cmp.Diff([]string{"plan j3", "result j3"}, last); diff != "" || !earlier {
			t.Error(diff, earlier)
		}
		if before, _, _ := talk(fmt.Sprintf(`{"id":"long talk","user":"ann","limit":1,"before":%d}`, first)); before[0] != "message j3" {
			t.Error(before)
		}
		if after, _, _ := talk(fmt.Sprintf(`{"id":"long talk","user":"ann","after":%d}`, first)); len(after) != 1 || after[0] != "result j3" {
			t.Error(after)
		}

		for _, bad := range []struct {
			verb, body string
			want       events.Code
		}{
			{"sessions.show", `{"id":"nobody"}`, events.CodeNotFound},
			{"sessions.show", `{}`, events.CodeMissing},
			{"sessions.show", `{"id":"s2","user":"bob","before":"x"}`, events.CodeNotFound},
			{"sessions.show", `s2`, events.CodeNotPermitted},
			{"sessions.show", `{"id":"s2","user":"ann"}`, events.CodeNotPermitted},
			{"sessions.conversation", `{"id":"s2","user":"ann"}`, events.CodeNotPermitted},
			{"sessions.rename", `{"id":"s2","title":"x"}`, events.CodeNotPermitted},
			{"sessions.stop", `{"id":"s2","user":"ann"}`, events.CodeNotPermitted},
			{"sessions.delete", `{"id":"s2","jobs":true}`, events.CodeNotPermitted},
			{"sessions.rename", `{"id":"nobody","title":"x"}`, events.CodeNotFound},
			{"sessions.rename", `{"id":"s2","user":"bob","title":" "}`, events.CodeMissing},
			{"sessions.stop", `nobody`, events.CodeNotFound},
			{"sessions.delete", `nobody`, events.CodeNotFound},
			{"sessions.list", `[1]`, events.CodeMalformed},
			{"submit", `{"goal":"g","session":"s2","user":"ann"}`, events.CodeNotPermitted},
			{"submit", `{"goal":"g","session":"s2"}`, events.CodeNotPermitted},
		} {
			if answer, fault := w.ask(bad.verb, bad.body); fault == nil || fault.Code != bad.want {
				t.Errorf("%s %s: %s, %v", bad.verb, bad.body, answer, fault)
			}
		}

		if answer, fault := w.ask("submit", `{"id":"j1","session":"stolen","goal":"other content"}`); fault == nil || fault.Code != events.CodeConflict {
			t.Errorf("%s %v", answer, fault)
		}
		if answer, fault := w.ask("sessions.show", "stolen"); fault == nil {
			t.Errorf("a refused job left a session: %s", answer)
		}

		if answer, fault := w.ask("sessions.rename", `{"id":"s2","user":"bob","title":"Bob's"}`); fault != nil || w.session("s2").Title != "Bob's" {
			t.Errorf("%s %v", answer, fault)
		}
		submit("hang1", "s2", "bob")
		submit("hang2", "s2", "bob")
		w.Await(w.Names.JobEvents("hang2"), func(e events.Event) bool { return e.Kind == events.KindJobRunning })
		if answer, fault := w.ask("sessions.delete", `{"id":"s2","user":"bob"}`); fault == nil || fault.Code != events.CodeConflict || !strings.Contains(fault.Hint, "sessions stop s2") {
			t.Errorf("%s %v", answer, fault)
		}
		answer, fault := w.ask("sessions.stop", `{"id":"s2","user":"bob","reason":"enough"}`)
		var stopped struct{ Stopped []string }
		if err := json.Unmarshal([]byte(answer), &stopped); fault != nil || err != nil {
			t.Errorf("%s %v %v", answer, fault, err)
		}
		slices.Sort(stopped.Stopped)
		musttest.Equal(t, []string{"hang1", "hang2"}, stopped.Stopped)
		for _, id := range []string{"hang1", "hang2"} {
			if end := w.Ended(id); end.Status != events.Stopped || end.Reason != "stopped: enough" {
				t.Errorf("%+v", end)
			}
		}
		w.settled()
		if got := w.session("s2").State; got != session.Stopped {
			t.Errorf("state %s", got)
		}
		if answer, fault := w.ask("sessions.delete", `{"id":"s2","user":"bob","jobs":true}`); fault != nil {
			t.Errorf("%s %v", answer, fault)
		}
		musttest.Equal(t, []string{"long talk"}, list(""))
		if _, fault := w.ask("get", "other"); fault == nil || fault.Code != events.CodeNotFound {
			t.Errorf("its job is still there: %v", fault)
		}
		if answer, fault := w.ask("sessions.delete", `{"id":"long talk","user":"ann"}`); fault != nil {
			t.Errorf("%s %v", answer, fault)
		}
		if answer, fault := w.ask("get", "j1"); fault != nil {
			t.Errorf("its job went, too: %s %v", answer, fault)
		}
	})
}

func TestASessionIsDeletedWithItsOwnJobsOnly(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, func(w *events.Work) *events.SubJobReported {
			if w.Thread == "hang" {
				return nil
			}
			return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"done"`)}
		})
		w.schedule(Default(), Deps{})
		submit := func(id, session, thread string) {
			t.Helper()
			if answer, fault := w.ask("submit", fmt.Sprintf(`{"id":%q,"session":%q,"thread":%q,"goal":"g","plan":%s}`, id, session, thread, plan(sub("a")))); fault != nil {
				t.Fatalf("%s: %v", answer, fault)
			}
			if thread == "hang" {
				w.Await(w.Names.JobEvents(id), func(e events.Event) bool { return e.Kind == events.KindJobRunning })
				return
			}
			w.Ended(id)
			w.settled()
		}
		for _, id := range []string{"own", "taken", "busy", "gone", "back"} {
			submit(id, "s1", "first")
		}
		for _, id := range []string{"taken", "busy", "gone", "back"} {
			if answer, fault := w.ask("delete", id); fault != nil {
				t.Fatalf("%s %v", answer, fault)
			}
		}
		submit("taken", "", "second")
		submit("busy", "s2", "hang")
		submit("back", "s1", "hang")
		if answer, fault := w.ask("sessions.delete", `{"id":"s1","jobs":true}`); fault == nil || !strings.Contains(fault.Message, "job back of the session is RUNNING") {
			t.Errorf("a job that goes on is deleted: %s %v", answer, fault)
		}
		if answer, fault := w.ask("stop", "back"); fault != nil {
			t.Errorf("%s %v", answer, fault)
		}
		answer, fault := w.ask("sessions.delete", `{"id":"s1","jobs":true}`)
		var got struct{ Jobs []string }
		if err := json.Unmarshal([]byte(answer), &got); fault != nil || err != nil {
			t.Fatalf("%s %v %v", answer, fault, err)
		}
		musttest.Equal(t, []string{"own", "gone", "back"}, got.Jobs)
		for id, want := range map[string]bool{"own": false, "gone": false, "back": false, "taken": true, "busy": true} {
			if _, fault := w.ask("get", id); (fault == nil) != want {
				t.Errorf("job %s is there: %v", id, fault)
			}
		}
	})
}
