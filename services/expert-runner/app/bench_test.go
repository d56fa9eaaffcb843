package app_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// BenchmarkPureLoop runs take, execute, report, acknowledge for an expert that does nothing and needs no claim.
func BenchmarkPureLoop(b *testing.B) { benchmarkLoop(b, true) }

// BenchmarkClaimedLoop is the same with a claim and a stored report.
func BenchmarkClaimedLoop(b *testing.B) { benchmarkLoop(b, false) }

func benchmarkLoop(b *testing.B, pure bool) {
	b.Helper()
	w := servicetest.New(b)
	fill(b, w, "noop", b.N)
	noop := func(context.Context, *app.Task) (events.SubJobReported, error) {
		return events.SubJobReported{Output: json.RawMessage("1")}, nil
	}
	b.ReportAllocs()
	b.ResetTimer()
	start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("noop", pure, noop)}})
	for facts, err := w.Bus.Streams().Info(b.Context(), w.Names.Work); err != nil || facts.Messages > 0; facts, err = w.Bus.Streams().Info(b.Context(), w.Names.Work) {
		<-time.After(5 * time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "subjobs/s")
}

// fill publishes the work of jobs of a thousand SubJobs.
func fill(b *testing.B, w *servicetest.Env, expert string, n int) {
	b.Helper()
	acks := make([]bus.Ack, 0, n)
	for i := range n {
		o := work(expert, "job"+strconv.Itoa(i/1000), "s"+strconv.Itoa(i%1000), 1)
		body := musttest.JSON(b, o)
		m := events.Message{Subject: w.Names.WorkFor(events.DefaultPool, expert, o.Job, o.SubJob, 1), Body: body}
		acks = append(acks, w.Bus.PublishAsync(m, bus.ExpectNone()))
	}
	for i := range acks {
		musttest.Get(acks[i].Wait(b.Context()))(b)
	}
}
