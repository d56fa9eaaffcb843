package app

import (
	"encoding/json"
	"errors"
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

func TestARefusedRequestLeavesNothingOfWhatWasStoredForIt(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w, c := refusal(t)
		own := musttest.Get(client.NewOwnID())(t)
		id := own.String()
		r := intruding(id)
		r.Attachments = []events.Ref{musttest.Get(c.Attach(t.Context(), id, "a.txt", strings.NewReader("attached")))(t)}
		empty := musttest.Get(c.Attach(t.Context(), id, "b.txt", strings.NewReader("")))(t)
		if w.payloads(id) != 1 {
			t.Fatal("nothing was stored")
		}
		_, err := c.Ask(own.With(t.Context()), r)
		if !errors.Is(err, bus.ErrNotPermitted) {
			t.Fatalf("the request was not refused: %v", err)
		}
		if _, err := w.Bus.Blobs().Get(t.Context(), id, empty.Digest); !errors.Is(err, bus.ErrNotFound) || w.payloads(id) != 0 {
			t.Errorf("%d payloads are left, and the one without bytes: %v", w.payloads(id), err)
		}

		r = intruding("") // Ask makes the id, and stores what is large.
		r.Inputs = map[string]json.RawMessage{"text": w.JSON(strings.Repeat("x", bus.InlineLimit))}
		receipt, err := c.Ask(t.Context(), r)
		if !errors.Is(err, bus.ErrNotPermitted) || w.payloads(receipt.JobID) != 0 {
			t.Errorf("%d payloads are left: %v", w.payloads(receipt.JobID), err)
		}

		r.User, r.ID = "anna", ""
		if receipt, err = c.Ask(t.Context(), r); err != nil || w.payloads(receipt.JobID) == 0 {
			t.Errorf("a request that is taken has %d payloads: %v", w.payloads(receipt.JobID), err)
		}
	})
}

// Without a proof a scheduler cannot know who else stores payloads under an id.
func TestARefusalRemovesNothingUnderAnIdThatItsSenderHasNotMade(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w, c := refusal(t)
		mine, theirs := musttest.Get(client.NewOwnID())(t), musttest.Get(client.NewOwnID())(t)
		musttest.Get(c.Attach(t.Context(), "given", "a.txt", strings.NewReader("attached")))(t)
		musttest.Get(c.Attach(t.Context(), theirs.String(), "a.txt", strings.NewReader("attached")))(t)
		for _, id := range []string{"given", theirs.String()} {
			if _, err := c.Ask(mine.With(t.Context()), intruding(id)); !errors.Is(err, bus.ErrNotPermitted) {
				t.Errorf("%s: %v", id, err)
			}
			_, proof, err := bus.ProvenID()
			musttest.Do(t, err)
			_, fault, err := w.Bus.Services().Request(bus.WithProof(t.Context(), proof), w.Names.API("submit"), w.JSON(intruding(id)))
			if fault == nil || err != nil {
				t.Errorf("%s: %v, %v", id, fault, err)
			}
			if w.payloads(id) != 1 {
				t.Errorf("a stranger has removed the payload of %s", id)
			}
		}
	})
}

// The job that has the id, or the copy of the request in the queue, needs the payloads.
func TestARefusalRemovesNothingThatIsInUse(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w, c := refusal(t)
		own := musttest.Get(client.NewOwnID())(t)
		id := own.String()
		attached := musttest.Get(c.Attach(t.Context(), id, "a.txt", strings.NewReader("attached")))(t)
		first := events.Request{ID: id, Goal: "g", Attachments: []events.Ref{attached}}
		if receipt, err := c.Ask(own.With(t.Context()), first); err != nil || !receipt.Admitted {
			t.Fatalf("%+v, %v", receipt, err)
		}
		for _, r := range []events.Request{intruding(id), {ID: id, Goal: "other"}} {
			if _, err := c.Ask(own.With(t.Context()), r); err == nil {
				t.Errorf("%+v was taken", r)
			}
			if w.payloads(id) != 1 {
				t.Fatal("the payload of a job is gone")
			}
		}
	})
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
