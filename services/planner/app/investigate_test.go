package app_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// status is an expert that reports the state of the system; a profile names it.
func status() events.Card {
	return events.Card{ID: "query_system_status", Name: "System status", Hidden: true}
}

// worker reads the experts' pool and returns a fixed report, as workers in any language may. It counts its work.
func worker(w *servicetest.Env, says string) *atomic.Int32 {
	w.Helper()
	musttest.Do(w, w.Bus.Queues().EnsurePool(w.Context(), events.DefaultPool))
	sub := musttest.Get(w.Bus.Queues().Consume(w.Context(), w.Bus.Queues().PoolConsumer(events.DefaultPool)))(w)
	w.Cleanup(sub.Stop)
	handed := &atomic.Int32{}
	go func() { // Ends with the subscription.
		for {
			list, err := sub.Next(w.Context(), 1)
			if err != nil {
				return
			}
			var o events.Work
			if err := events.ReadWork(list[0].Message().Body, &o); err != nil {
				w.Error(err)
			}
			handed.Add(1)
			m := events.Message{Subject: o.ReportSubject, Body: []byte(says), Header: events.Header(events.HeaderMsgID, o.ReportID)}
			if _, err := w.Bus.Publish(w.Context(), m, bus.ExpectNone()); err != nil {
				w.Error(err)
			}
			if err := list[0].Ack(); err != nil {
				w.Error(err)
			}
		}
	}()
	return handed
}

// created waits for the graph.
func created(w *servicetest.Env) *events.GraphCreated {
	w.Helper()
	for {
		if c, ok := w.Fact().Data.(*events.GraphCreated); ok {
			return c
		}
	}
}

// proves C12
func TestTheStateOfTheSystemIsAskedOverTheBusOnceWhereverThePlannerDies(t *testing.T) {
	for _, point := range []string{"claim", "intent", "answered", "kept", "publish"} {
		servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
			w.Announce(append(three(), status())...)
			handed := worker(w, `{"outcome":"SUCCESS","output":"the schema is empty","tokens":5}`)
			killed := errors.New("killed")
			m := &slow{t: t, takes: time.Second}
			p := start(w, app.Deps{Model: m, ModelName: "slow", Hook: func(at string) error {
				if at == point {
					return killed
				}
				return nil
			}})
			issue(w, "j", events.Request{Goal: "g", Profile: "graph"})
			<-time.After(10 * time.Second)
			if err := p.Stop(); !errors.Is(err, killed) {
				t.Fatalf("%s: %v", point, err)
			}
			start(w, app.Deps{Model: m, ModelName: "slow"})
			if c := created(w); len(c.Warnings) != 0 || c.Tokens < 5 {
				t.Errorf("%s: %+v", point, c)
			}
			if n := handed.Load(); n != 1 {
				t.Errorf("%s: handed out %d times", point, n)
			}
			w.Idle()
		})
	}
}

func TestAnInquiryThatFailsIsAWarningOfTheGraph(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(append(three(), status())...)
		worker(w, `{"outcome":"EXECUTION_ERROR","error":{"code":"execution_error","message":"no database"}}`)
		start(w, app.Deps{Model: &slow{t: t}, ModelName: "slow"})
		issue(w, "j", events.Request{Goal: "g", Profile: "graph"})
		if c := created(w); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Cause, "no database") {
			t.Errorf("%+v", c.Warnings)
		}
	})
}

func TestAStopWithdrawsAnInquiryThatNobodyHasBegun(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(append(three(), status())...)
		start(w, app.Deps{Model: &slow{t: t}, ModelName: "slow"})
		issue(w, "j", events.Request{Goal: "g", Profile: "graph"})
		<-time.After(time.Minute)
		musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j", ""), nil, []byte(`{"reason":"enough"}`)))
		e := w.Fact()
		for e.Kind == events.KindSubJobProgressed {
			e = w.Fact()
		}
		entries, _, err := w.Bus.Journal("j", "~plan~1~investigate-1-1").Read(t.Context())
		if err != nil || e.Kind != events.KindPlanRejected || len(entries) != 1 || entries[0].Type != events.JournalClosed {
			t.Errorf("%s, %+v, %v", e.Kind, entries, err)
		}
		w.Idle() // The work was removed from the queue.
	})
}
