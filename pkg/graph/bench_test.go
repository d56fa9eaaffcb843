package graph

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// chain is a plan of n steps in a row.
func chain(n int) *events.Plan {
	p := &events.Plan{SubJobs: make([]events.SubJob, n)}
	for i := range p.SubJobs {
		p.SubJobs[i] = sub(fmt.Sprintf("s%d", i))
		if i > 0 {
			p.SubJobs[i].Dependencies = []string{fmt.Sprintf("s%d", i-1)}
		}
	}
	return p
}

// fan is one step, n steps that depend on it, and one that depends on all of them.
func fan(n int) *events.Plan {
	p := &events.Plan{SubJobs: []events.SubJob{sub("head")}}
	tail := sub("tail")
	for i := range n - 2 {
		p.SubJobs = append(p.SubJobs, sub(fmt.Sprintf("s%d", i), "head"))
		tail.Dependencies = append(tail.Dependencies, fmt.Sprintf("s%d", i))
	}
	p.SubJobs = append(p.SubJobs, tail)
	return p
}

// deep is a graph of the size that is promised to be normal: 13,000 steps, 200,000 edges, 10,000 deep.
func deep() *events.Plan {
	p := chain(13000)
	edges := 12999
	for i := 10000; i < len(p.SubJobs); i++ { // Beside the chain: from anywhere in the first 10,000.
		p.SubJobs[i].Dependencies = []string{"s0"}
	}
	edges -= 0
	for i := 1; edges < 200_000; i++ {
		s := &p.SubJobs[2+i%12998]
		at := 2 + i%12998
		d := (at * 7919 * (1 + i/12998)) % min(at-1, 9999)
		s.Dependencies = append(s.Dependencies, fmt.Sprintf("s%d", d))
		edges++
	}
	return p
}

// runner plays the shortest way through a job: each run reports as soon as it is pending.
type runner struct {
	job   *Job
	seq   uint64
	now   time.Time
	ready []CommandID
}

func run(tb testing.TB, p *events.Plan) *runner {
	tb.Helper()
	r := rules()
	r.MaxSteps = 1 << 20
	f := &runner{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	job := musttest.Get(New(f.event(events.KindJobRequested, CommandID{}, &events.JobRequested{Rules: r})))(tb)
	f.job = job
	f.deliver()
	f.step(events.KindGraphCreated, &events.GraphCreated{Plan: p})
	return f
}

func (f *runner) event(k events.Kind, id CommandID, data any) events.Event {
	f.seq++
	f.now = f.now.Add(time.Microsecond)
	return events.Event{Kind: k, ID: "e", Job: "j", SubJob: id.SubJob, Run: id.Run, Seq: f.seq, Time: f.now, Data: data}
}

func (f *runner) deliver() {
	for commands := f.job.Pending(); len(commands) > 0; commands = f.job.Pending() {
		for i := range commands {
			f.job.Sent(commands[i].CommandID)
			if commands[i].Kind == RunSubJob {
				f.ready = append(f.ready, commands[i].CommandID)
			}
		}
	}
}

// step ends the oldest outstanding run, and delivers what follows.
func (f *runner) step(k events.Kind, data any) bool {
	if len(f.ready) == 0 {
		return false
	}
	id := f.ready[0]
	f.ready = f.ready[1:]
	f.job.Step(f.event(k, id, data))
	f.deliver()
	return true
}

var success = &events.SubJobReported{Outcome: events.Success}

// BenchmarkStep is the hot path: a report is applied, successors are released, their orders are made and marked as delivered.
func BenchmarkStep(b *testing.B) {
	for _, shape := range []struct {
		name string
		plan func(int) *events.Plan
	}{{"chain", chain}, {"fan", fan}} {
		for _, n := range []int{10, 100, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				plan := shape.plan(n)
				b.ReportAllocs()
				var f *runner
				for i := 0; i < b.N; i++ {
					if f == nil || len(f.ready) == 0 {
						b.StopTimer()
						f = run(b, plan)
						b.StartTimer()
					}
					f.step(events.KindSubJobReported, success)
					f.job.Transitions()
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	plan := deep()
	b.ReportAllocs()
	for b.Loop() {
		run(b, plan)
	}
}

func BenchmarkSave(b *testing.B) {
	f := run(b, deep())
	b.ReportAllocs()
	for b.Loop() {
		musttest.Get(f.job.MarshalJSON())(b)
	}
}

func BenchmarkLoad(b *testing.B) {
	data := musttest.Get(json.Marshal(run(b, deep()).job))(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		musttest.Do(b, json.Unmarshal(data, &Job{}))
	}
}
