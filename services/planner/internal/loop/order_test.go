package loop

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

func FuzzOrder(f *testing.F) {
	f.Add("jobs.work.~planner.~planner.j.~plan.1", []byte(`{"kind":"plan","job":"j","subjob":"~plan","run":1,"request":{"goal":"g"}}`))
	f.Add("jobs.work.~planner.~planner.j.~plan.01", []byte(`{}`))
	f.Add("jobs.work.a.b.j.s.9999999999999999999999", []byte(`null`))
	f.Add("", []byte{})
	l := New(Settings{Names: events.NewNames("")})
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		w, fault, ok := l.order(&queue.Delivery{Subject: subject, Body: body})
		if !ok {
			return
		}
		if w == nil || !events.ValidID(w.Job) || !events.ValidToken(w.SubJob) || w.Run < 1 {
			t.Fatalf("%q is about %+v", subject, w)
		}
		m := musttest.Get(events.Encode(l.Names, events.Event{
			Kind: events.KindPlanRejected, Job: w.Job, SubJob: w.SubJob, Run: w.Run, Data: &events.PlanRejected{},
		}))(t)
		if e, ok := events.Decode(l.Names, m); !ok || e.Fault != nil {
			t.Fatalf("the answer to %q cannot be read: %+v", subject, e.Fault)
		}
		if fault != nil && fault.Message == "" {
			t.Fatal("a fault says nothing")
		}
	})
}
