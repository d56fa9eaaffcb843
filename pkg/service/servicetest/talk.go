package servicetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Publish stores a message.
func (e *Env) Publish(subject string, body []byte) {
	e.Helper()
	if _, err := e.Bus.Publish(e.Context(), events.Message{Subject: subject, Body: body}, bus.Expect{}); err != nil {
		e.Fatal(err)
	}
}

// JSON encodes a value.
func (e *Env) JSON(v any) []byte {
	e.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		e.Fatal(err)
	}
	return text
}

// Submit submits a job like a client.
func (e *Env) Submit(r events.Request) {
	e.Helper()
	e.Publish(e.Names.Request(), e.JSON(r))
}

// Issue publishes a run like the scheduler: for the planner, or for the expert of its Spec in the default pool.
func (e *Env) Issue(w events.Work) {
	e.Helper()
	pool, expert := events.PlannerPool, events.PlannerExpert
	if w.Kind == events.WorkExecute {
		pool, expert = events.DefaultPool, w.Spec.Expert
	}
	e.Publish(e.Names.WorkFor(pool, expert, w.Job, w.SubJob, w.Run), e.JSON(w))
}

// Announce puts cards of experts into the bucket of cards.
func (e *Env) Announce(cards ...events.Card) {
	e.Helper()
	for _, card := range cards {
		if _, err := e.Bus.Experts().Put(e.Context(), card.ID, e.JSON(card), 0); err != nil {
			e.Fatal(err)
		}
	}
}

// Tell publishes an event. Without an id it gets one from its job, kind and key, without a source that of the test. Any goroutine
// may call it.
func (e *Env) Tell(event events.Event) {
	e.Helper()
	if event.ID == "" {
		event.ID = event.Job + "/" + string(event.Kind) + "/" + event.Key
	}
	if event.Source == "" {
		event.Source = "test"
	}
	m, err := events.Encode(e.Names, event)
	if err == nil {
		_, err = e.Bus.Publish(context.Background(), m, bus.Expect{})
	}
	if err != nil {
		e.Errorf("state %s: %v", event.Kind, err)
	}
}

// Fence closes a run in its journal like the scheduler.
func (e *Env) Fence(w events.Work, reason string) {
	e.Helper()
	j := e.Bus.Journal(w.Job, w.SubJob)
	for {
		_, last, err := j.Read(e.Context())
		if err == nil {
			_, err = j.Append(e.Context(), events.JournalRecord{Type: events.JournalClosed, Run: w.Run, Reason: reason}, last)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, bus.ErrConflict) {
			e.Fatal(err)
		}
	}
}

// Fact returns the next event of the log, of any job, beginning with the first.
func (e *Env) Fact() events.Event {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), e.Patience)
	defer cancel()
	if e.facts == nil {
		facts, err := e.Bus.Log().Follow(e.Context(), e.Names.AllEvents(), bus.FollowOptions{})
		if err != nil {
			e.Fatal(err)
		}
		e.Cleanup(facts.Stop)
		e.facts = facts
	}
	list, err := e.facts.Next(ctx, 1)
	if err != nil {
		e.Fatalf("no fact: %v", err)
	}
	event, ok := list[0].Event()
	if !ok || event.Fault != nil {
		e.Fatalf("bad fact: %+v", event)
	}
	return event
}

// Facts returns the events of one kind that a job has so far.
func (e *Env) Facts(job string, kind events.Kind) []events.Event {
	e.Helper()
	var list []events.Event
	for event, err := range e.Bus.Log().EventsOf(e.Context(), job, 0) {
		if err != nil {
			e.Fatal(err)
		}
		if event.Kind == kind {
			list = append(list, event)
		}
	}
	return list
}

// Await reads events of the log that match a filter, from the beginning, until f returns true.
func (e *Env) Await(filter string, f func(events.Event) bool) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), e.Patience)
	defer cancel()
	sub, err := e.Bus.Log().Follow(ctx, filter, bus.FollowOptions{})
	if err != nil {
		e.Fatal(err)
	}
	defer sub.Stop()
	var history strings.Builder
	for {
		list, err := sub.Next(ctx, 512)
		if err != nil {
			e.Fatalf("waiting for %s: %v, after\n%s", filter, err, history.String())
		}
		for i := range list {
			event, ok := list[i].Event()
			if ok && f(event) {
				return
			}
			fmt.Fprintf(&history, "%6d %s %s %d %s\n", event.Seq, event.Kind, event.SubJob, event.Run, event.Key)
		}
	}
}

// Ended waits for the first end of a job.
func (e *Env) Ended(job string) *events.JobEnded {
	e.Helper()
	return e.EndedAs(job, "")
}

// EndedAs waits for the first end of a job with a status; "" accepts any.
func (e *Env) EndedAs(job string, status events.Status) (end *events.JobEnded) {
	e.Helper()
	e.Await(e.Names.JobEvents(job), func(event events.Event) (ok bool) {
		end, ok = event.Data.(*events.JobEnded)
		return ok && (status == "" || end.Status == status)
	})
	return end
}

// Report waits for the report of a run.
func (e *Env) Report(w events.Work) *events.SubJobReported {
	e.Helper()
	event := e.ofRun(w, events.KindSubJobReported)
	return event.Report()
}

// Asked waits for the question with which a run parks.
func (e *Env) Asked(w events.Work) *events.InputRequested {
	e.Helper()
	asked, ok := e.ofRun(w, events.KindInputRequested).Data.(*events.InputRequested)
	if !ok {
		e.Fatal("the question cannot be read")
	}
	return asked
}

// ofRun waits for an event of a run.
func (e *Env) ofRun(w events.Work, kind events.Kind) (found events.Event) {
	e.Helper()
	e.Await(e.Names.JobEvents(w.Job), func(event events.Event) bool {
		found = event
		return event.Kind == kind && event.SubJob == w.SubJob && event.Run == w.Run
	})
	return found
}

// Folded folds the log of a job.
func (e *Env) Folded(job string) *graph.Job {
	e.Helper()
	j, err := graph.Fold(func(yield func(events.Event, error) bool) {
		for event, err := range e.Bus.Log().EventsOf(e.Context(), job, 0) {
			if d, ok := event.Data.(*events.GraphCreated); ok && d.PlanRef != nil {
				text, err := e.Bus.Blobs().Get(e.Context(), job, d.PlanRef.Digest)
				if err == nil {
					err = json.Unmarshal(text, &d.Plan)
				}
				if err != nil {
					e.Fatal(err)
				}
			}
			if event.Kind != events.KindJobAdvanced && !yield(event, err) {
				return
			}
		}
	})
	if err != nil {
		e.Fatal(err)
	}
	return j
}

// Idle waits until no work is left.
func (e *Env) Idle() {
	e.Helper()
	e.Until("no work is left", e.IsIdle)
}

// IsIdle reports whether no work is left.
func (e *Env) IsIdle() bool {
	facts, err := e.Bus.Streams().Info(e.Context(), e.Names.Work)
	return err == nil && facts.Messages == 0
}

// Journal lists the types of the records of a SubJob.
func (e *Env) Journal(job, subjob string) []events.JournalType {
	e.Helper()
	list, _, err := e.Bus.Journal(job, subjob).Read(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	types := []events.JournalType{}
	for _, r := range list {
		types = append(types, r.Type)
	}
	return types
}
