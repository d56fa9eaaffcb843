package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// refusal is a scheduler, and a session that belongs to anna.
func refusal(t *testing.T) (*workers, *client.Client) {
	w := newWorkers(t, nil)
	w.stop() // No planner runs.
	w.schedule(Default(), Deps{})
	if _, fault := w.ask("submit", `{"id":"hers","goal":"g","session":"s1","user":"anna"}`); fault != nil {
		t.Fatal(fault)
	}
	return w, client.New(w.Bus)
}

// payloads returns how many payloads are stored under an id.
func (w *workers) payloads(id string) int {
	w.Helper()
	return len(musttest.Get(w.Bus.Blobs().List(w.Context(), id))(w))
}

// intruding is a request that is refused, since it is not anna's.
func intruding(id string) events.Request {
	return events.Request{ID: id, Goal: "g", Session: "s1", User: "bob"}
}

// A scheduler stores what is large for those who send it whole, under ids that they give.
func TestARefusedRequestIsNotStoredByTheScheduler(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w, _ := refusal(t)
		r := intruding("given")
		r.Inputs = map[string]json.RawMessage{"text": w.JSON(strings.Repeat("x", bus.InlineLimit))}
		if _, fault := w.ask("submit", string(w.JSON(r))); fault == nil || w.payloads("given") != 0 {
			t.Errorf("%d payloads are left: %v", w.payloads("given"), fault)
		}
	})
}

func TestWhatIsLeftUnderAnIdWithoutAJobCanBeDeleted(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w, c := refusal(t)
		for _, remove := range []func() error{
			func() error { return c.Delete(t.Context(), "left") },
			func() error {
				if _, fault := w.ask("delete", `{"id":"left"}`); fault != nil {
					return fault
				}
				return nil
			},
		} {
			if err := remove(); err == nil {
				t.Error("what is not there was deleted")
			}
			musttest.Get(c.Attach(t.Context(), "left", "a.txt", strings.NewReader("attached")))(t)
			if err := remove(); err != nil || w.payloads("left") != 0 {
				t.Errorf("%d payloads are left: %v", w.payloads("left"), err)
			}
			musttest.Get(c.Attach(t.Context(), "left", "a.txt", strings.NewReader("attached")))(t)
			musttest.Get(w.Bus.State().Put(t.Context(), "left", []byte(`{"id":"left","status":"FINISHED","seq":1}`), 0))(t)
			if err := remove(); err != nil || w.payloads("left") != 0 {
				t.Errorf("%d payloads of a job whose log is gone are left: %v", w.payloads("left"), err)
			}
		}
	})
}
