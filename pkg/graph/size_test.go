package graph

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAGraphOf13000StepsAnd200000EdgesAnd10000DeepRuns(t *testing.T) {
	plan := deep()
	edges := 0
	for _, s := range plan.SubJobs {
		edges += len(s.Dependencies)
	}
	if len(plan.SubJobs) != 13_000 || edges != 200_000 {
		t.Fatalf("%d steps, %d edges", len(plan.SubJobs), edges)
	}
	f := run(t, plan)
	for f.step(events.KindSubJobReported, success) {
		continue
	}
	if f.job.Status != events.Finished {
		t.Fatalf("%s: %v", f.job.Status, f.job.Error)
	}
	data := musttest.JSON(t, f.job)
	if err := json.Unmarshal(data, &Job{}); err != nil {
		t.Error(err)
	}
}

func TestTenThousandQuestionsAtOnceAreAnswered(t *testing.T) {
	f := run(t, fan(10_000))
	f.step(events.KindSubJobReported, success)
	asked := f.ready
	f.ready = nil
	for _, id := range asked {
		f.job.Step(f.event(events.KindInputRequested, id, &events.InputRequested{Request: id.SubJob, Kind: events.InputApproval}))
		f.deliver()
	}
	if f.job.Status != events.Waiting {
		t.Errorf("the job is %s", f.job.Status)
	}
	for _, id := range asked {
		e := f.event(events.KindInputClosed, CommandID{}, &events.InputClosed{Action: events.Answered})
		e.Key = id.SubJob
		f.job.Step(e)
		f.deliver()
	}
	if len(f.ready) != 9998 {
		t.Errorf("%d runs go on", len(f.ready))
	}
}

func TestAThousandSplitsInAWideGraphAreSpliced(t *testing.T) {
	f := run(t, fan(5_000))
	f.step(events.KindSubJobReported, success)
	wide := f.ready
	f.ready = nil
	for _, id := range wide[:1000] {
		f.job.Step(f.event(events.KindSubJobReported, id, &events.SubJobReported{Outcome: events.TooComplicated}))
		f.deliver()
	}
	splits := f.ready
	f.ready = nil
	for _, id := range splits {
		f.job.Step(f.event(events.KindGraphCreated, id, &events.GraphCreated{Plan: chain(2)}))
		f.deliver()
	}
	if f.job.PlanVersion != 1001 || len(f.ready) != 1000 {
		t.Errorf("version %d, %d heads", f.job.PlanVersion, len(f.ready))
	}
}

func TestAJobEndsOnlyBehindTheCloseOfEveryRunHoweverMany(t *testing.T) {
	f := run(t, fan(5_000))
	f.step(events.KindSubJobReported, success)
	f.job.Step(f.event(events.KindStopRequested, CommandID{}, &events.StopRequested{}))
	closes, ends := 0, 0
	for commands := f.job.Pending(); len(commands) > 0; commands = f.job.Pending() {
		for _, c := range commands {
			switch c.Kind {
			case CloseRun:
				closes++
			case EndJob:
				ends++
				if closes != 4_998 {
					t.Fatalf("the job ends after %d of 4998 closes", closes)
				}
			}
			f.job.Sent(c.CommandID)
		}
	}
	if ends != 1 {
		t.Errorf("%d ends", ends)
	}
}

func TestTheCostOfAStepDoesNotGrowWithTheGraph(t *testing.T) {
	allocations := func(n int) float64 {
		f := run(t, chain(n))
		return testing.AllocsPerRun(min(n, 100)-2, func() {
			f.step(events.KindSubJobReported, success)
			f.job.Transitions()
		})
	}
	if few, many := allocations(10), allocations(10_000); many > few+1 || few > 10 {
		t.Errorf("%v allocations for a step of 10, %v for one of 10,000", few, many)
	}
}
