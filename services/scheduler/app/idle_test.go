package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// said counts what clients have sent to the server so far.
func (w *workers) said() int64 {
	w.Helper()
	v := musttest.Get(w.Server.NATS().Varz(nil))(w)
	return v.InMsgs
}

// Nothing polls for what waits for its time: ten minutes with fifty schedules cost the bus as much as ten minutes without any.
// Polling ten times a second would take 300,000 requests.
// proves V-weakness-7-schedule
func TestASchedulesMomentIsNotAskedFor(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		span := func() int64 {
			before := w.said()
			<-time.After(10 * time.Minute)
			return w.said() - before
		}
		w.must("create", repeating(schedule.Spec{When: minutes(24 * 60)})) // The scheduler is ready.
		w.must("delete", id("s"))
		without := span()
		for i := range 50 {
			spec := schedule.Spec{When: minutes(24 * 60)}
			spec.Request = events.Request{Goal: "g", Plan: plan(sub("a"))}
			w.must("create", struct {
				ID string `json:"id"`
				schedule.Spec
			}{fmt.Sprint("s", i), spec})
		}
		<-time.After(time.Minute)
		if with := span(); with > without+50 {
			t.Errorf("ten minutes with fifty schedules take %d messages, ten without %d", with, without)
		}
	})
}
