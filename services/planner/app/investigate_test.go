package app_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// status is an expert that tells the state of the system; a profile names it.
func status() events.Card {
	return events.Card{ID: "query_system_status", Name: "System status", Hidden: true}
}

// worker reads the experts' pool and reports what it is told to, as workers in any language do. It counts what it was handed.
func (w *world) worker(says string) *atomic.Int32 {
	w.t.Helper()
	if err := w.bus.Queues().EnsurePool(w.t.Context(), events.DefaultPool); err != nil {
		w.t.Fatal(err)
	}
	sub, err := w.bus.Queues().Consume(w.t.Context(), w.bus.Queues().PoolConsumer(events.DefaultPool))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(sub.Stop)
	handed := &atomic.Int32{}
	go func() { // Ends with the subscription.
		for {
			list, err := sub.Next(w.t.Context(), 1)
			if err != nil {
				return
			}
			var o events.Work
			if err := events.ReadWork(list[0].Message().Body, &o); err != nil {
				w.t.Error(err)
			}
			handed.Add(1)
			m := events.Message{Subject: o.ReportSubject, Body: []byte(says), Header: events.Header(events.HeaderMsgID, o.ReportID)}
			if _, err := w.bus.Publish(w.t.Context(), m, bus.ExpectNone()); err != nil {
				w.t.Error(err)
			}
			if err := list[0].Ack(); err != nil {
				w.t.Error(err)
			}
		}
	}()
	return handed
}

// created waits for the graph.
func (w *world) created() *events.GraphCreated {
	w.t.Helper()
	for {
		if c, ok := w.fact().Data.(*events.GraphCreated); ok {
			return c
		}
	}
}

// proves C12
func TestTheStateOfTheSystemIsAskedOverTheBusOnceWhereverThePlannerDies(t *testing.T) {
	for _, point := range []string{"claim", "intent", "answered", "kept", "publish"} {
		virtual(t, func(t *testing.T, w *world) {
			w.announce(append(three(), status())...)
			handed := w.worker(`{"outcome":"SUCCESS","output":"the schema is empty","tokens":5}`)
			killed := errors.New("killed")
			m := &slow{t: t, takes: time.Second}
			_, drain := w.start(app.Deps{Model: m, ModelName: "slow", Hook: func(at string) error {
				if at == point {
					return killed
				}
				return nil
			}})
			w.issue("j", events.Request{Goal: "g", Profile: "graph"})
			<-time.After(10 * time.Second)
			if err := drain(); !errors.Is(err, killed) {
				t.Fatalf("%s: %v", point, err)
			}
			w.start(app.Deps{Model: m, ModelName: "slow"})
			if c := w.created(); len(c.Warnings) != 0 || c.Tokens < 5 {
				t.Errorf("%s: %+v", point, c)
			}
			if n := handed.Load(); n != 1 {
				t.Errorf("%s: handed out %d times", point, n)
			}
			w.settled()
		})
	}
}

func TestAnInquiryThatFailsIsAWarningOfTheGraph(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(append(three(), status())...)
		w.worker(`{"outcome":"EXECUTION_ERROR","error":{"code":"execution_error","message":"no database"}}`)
		w.start(app.Deps{Model: &slow{t: t}, ModelName: "slow"})
		w.issue("j", events.Request{Goal: "g", Profile: "graph"})
		if c := w.created(); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Cause, "no database") {
			t.Errorf("%+v", c.Warnings)
		}
	})
}

func TestAStopWithdrawsAnInquiryThatNobodyHasBegun(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(append(three(), status())...)
		w.start(app.Deps{Model: &slow{t: t}, ModelName: "slow"})
		w.issue("j", events.Request{Goal: "g", Profile: "graph"})
		<-time.After(time.Minute)
		if err := w.bus.PublishCore(w.bus.Names().Cancel("j", ""), nil, []byte(`{"reason":"enough"}`)); err != nil {
			t.Fatal(err)
		}
		e := w.fact()
		for e.Kind == events.KindSubJobProgressed {
			e = w.fact()
		}
		entries, _, err := w.bus.Journal("j", "~plan~1~investigate-1-1").Read(t.Context())
		if err != nil || e.Kind != events.KindPlanRejected || len(entries) != 1 || entries[0].Type != events.JournalClosed {
			t.Errorf("%s, %+v, %v", e.Kind, entries, err)
		}
		w.settled() // The work was taken out of the queue.
	})
}
