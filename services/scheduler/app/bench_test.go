package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func fan(n int) json.RawMessage {
	subjobs := []events.SubJob{sub("first")}
	join := sub("join")
	for i := range n {
		id := "n" + strconv.Itoa(i)
		subjobs = append(subjobs, sub(id, "first"))
		join.Dependencies = append(join.Dependencies, id)
	}
	return plan(append(subjobs, join)...)
}

func benchmark(b *testing.B, jobs, nodes int, make func(i int) []byte) {
	w := newWorkers(b, nil)
	scheduler := w.schedule(Default(), Deps{})
	sub := musttest.Get(w.Bus.Log().Follow(b.Context(), "jobs.event.*.*.job.finished", bus.FollowOptions{}))(b)
	defer sub.Stop()
	round := 0
	for b.Loop() {
		for i := range jobs {
			r := events.Request{ID: fmt.Sprintf("j%d-%d", round, i), Goal: "bench", Plan: make(i)}
			if len(r.Plan) > events.MaxInline {
				ref := musttest.Get(w.Bus.Blobs().Put(b.Context(), r.ID, r.Plan))(b)
				r.Plan, r.PlanRef = nil, &ref
			}
			body := musttest.JSON(b, r)
			w.Bus.PublishAsync(events.Message{Subject: w.Names.Request(), Body: body}, bus.Expect{})
		}
		for done := 0; done < jobs; {
			list := musttest.Get(sub.Next(b.Context(), 512))(b)
			done += len(list)
		}
		round++
	}
	b.ReportMetric(float64(b.N*jobs*nodes)/b.Elapsed().Seconds(), "subjobs/s")
	if err := scheduler.Stop(); err != nil {
		b.Error(err)
	}
}

func BenchmarkChain(b *testing.B) {
	subjobs := []events.SubJob{sub("n0")}
	for i := 1; i < 1000; i++ {
		subjobs = append(subjobs, sub("n"+strconv.Itoa(i), "n"+strconv.Itoa(i-1)))
	}
	text := plan(subjobs...)
	benchmark(b, 1, 1000, func(int) []byte { return text })
}

func BenchmarkFan(b *testing.B) {
	text := fan(1000)
	benchmark(b, 1, 1002, func(int) []byte { return text })
}

func BenchmarkRandom(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	benchmark(b, 200, 10, func(int) []byte {
		var subjobs []events.SubJob
		for i := range 10 {
			s := sub("n" + strconv.Itoa(i))
			for d := range i {
				if r.IntN(3) == 0 {
					s.Dependencies = append(s.Dependencies, "n"+strconv.Itoa(d))
				}
			}
			subjobs = append(subjobs, s)
		}
		return plan(subjobs...)
	})
}
