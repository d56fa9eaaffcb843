package jobtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // The example must not depend on the machine.

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A report counts every morning, continuing from the previous day's; three days pass at once, including a change of the clocks.
func ExampleSchedule() {
	r, err := jobtest.Schedule{
		ID:    "report",
		Start: time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC),
		Spec: schedule.Spec{
			When:    events.Schedule{DailyTime: "09:00", Timezone: "Europe/Berlin"},
			MaxRuns: 3, Previous: true, Request: events.Request{Goal: "Count"},
		},
		Script: jobtest.Script{
			Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "count", Goal: "Count on", Expert: "counter"}}},
			Default: func(w events.Work) events.SubJobReported {
				var before *struct{ Result int }
				if err := json.Unmarshal(w.Inputs["previous"], &before); err != nil || before == nil {
					return jobtest.Succeed(1)
				}
				return jobtest.Succeed(before.Result + 1)
			},
		},
	}.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range r.State.Recent {
		fmt.Println(run.Due.Format(time.RFC3339), run.Status, string(run.Result))
	}
	fmt.Println(r.State.Status, len(r.Jobs))
	// Output:
	// 2026-03-28T08:00:00Z FINISHED 1
	// 2026-03-29T07:00:00Z FINISHED 2
	// 2026-03-30T07:00:00Z FINISHED 3
	// done 3
}

// long is a schedule with a run every two minutes, whose first job takes five.
func long(overlap schedule.Overlap) jobtest.Schedule {
	return jobtest.Schedule{
		Spec: schedule.Spec{When: events.Schedule{IntervalMinutes: 2}, Overlap: overlap, MaxRuns: 3, Request: events.Request{Goal: "g"}},
		Script: jobtest.Script{
			Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x")}},
			Default: func(w events.Work) events.SubJobReported {
				r := jobtest.Succeed(true)
				if w.Job == "schedule-20260101T000200Z" {
					r.DurationMS = (5 * time.Minute).Milliseconds()
				}
				return r
			},
		},
	}
}

func TestRunsOfAScheduleMeetEachOtherAsItSays(t *testing.T) {
	for overlap, want := range map[schedule.Overlap][]string{
		schedule.OverlapSkip:    {"FINISHED", "skipped", "skipped", "FINISHED", "FINISHED"},
		schedule.OverlapQueue:   {"FINISHED", "FINISHED", "FINISHED"},
		schedule.OverlapReplace: {"STOPPED", "FINISHED", "FINISHED"},
	} {
		r := musttest.Get(long(overlap).Run())(t)
		var list []string
		for _, run := range r.State.Recent {
			list = append(list, string(run.Status))
		}
		if diff := cmp.Diff(want, list); diff != "" || len(r.Jobs) != 3 || r.State.Status != schedule.Done {
			t.Errorf("%s: %d jobs, %s (-want +got):\n%s", overlap, len(r.Jobs), r.State.Status, diff)
		}
		again, err := long(overlap).Run()
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("%s: another time %v (-first +second):\n%s", overlap, err, diff)
		}
	}
}

func TestWordsToAScheduleAreHeardAtTheirTime(t *testing.T) {
	s := long(schedule.OverlapQueue)
	s.Spec.MaxRuns, s.For = 0, 30*time.Minute
	s.Acts = []jobtest.Act{
		{At: 9 * time.Minute, Kind: schedule.Paused, Data: &schedule.Word{Reason: "holidays"}},
		{At: 20 * time.Minute, Kind: schedule.Triggered, Data: &schedule.Word{}},
	}
	r, err := s.Run()
	if err != nil || r.State.Status != schedule.Rests || r.State.Reason != "holidays" || r.State.Runs != 4 || len(r.Jobs) != 5 {
		t.Errorf("%v: %+v with %d jobs", err, r.State, len(r.Jobs))
	}
}

func TestAScheduleThatCannotBePlayedSaysWhy(t *testing.T) {
	endless := long(schedule.OverlapQueue)
	endless.Spec.MaxRuns, endless.MaxFacts = 0, 50
	if r, err := endless.Run(); !errors.Is(err, jobtest.ErrEndless) || len(r.Facts) != 50 {
		t.Errorf("endless: %v", err)
	}
	for name, change := range map[string]func(*jobtest.Schedule){
		"no moment": func(s *jobtest.Schedule) { s.Spec.When = events.Schedule{} },
		"no goal":   func(s *jobtest.Schedule) { s.Spec.Request.Goal = "" },
		"no id":     func(s *jobtest.Schedule) { s.ID = "a~b" },
		"no expert": func(s *jobtest.Schedule) { s.Script.Default = nil },
	} {
		s := long("")
		change(&s)
		if _, err := s.Run(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
