package loop

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// office is a dispatcher in memory: experts report after a while, or never.
type office struct {
	mu      sync.Mutex // Guards issued and closed.
	issued  []events.Work
	closed  []string
	takes   time.Duration
	reports map[string]*events.SubJobReported // By expert; one that is missing never reports.
}

func (o *office) Issue(_ context.Context, m events.Message, report string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var w events.Work
	if err := events.ReadWork(m.Body, &w); err != nil {
		return err
	}
	for i := range o.issued {
		if o.issued[i].ReportSubject == report {
			return nil
		}
	}
	o.issued = append(o.issued, w)
	return nil
}

func (o *office) Report(ctx context.Context, subject string) (*events.SubJobReported, error) {
	o.mu.Lock()
	var report *events.SubJobReported
	for i := range o.issued {
		if o.issued[i].ReportSubject == subject {
			report = o.reports[o.issued[i].Spec.Expert]
		}
	}
	o.mu.Unlock()
	if report == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return report, lease.Pause(ctx, o.takes)
}

func (o *office) Close(_ context.Context, w *events.Work, reason string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = append(o.closed, w.Spec.Expert+": "+reason)
	return nil
}

// curious are ports of a planner that asks x and y before it plans.
func curious(o *office) (*ports, *tongue) {
	w := newPorts("x", "y")
	m := &tongue{says: onePlan}
	w.model, w.desk, w.looks = m, o, planning.InvestigateRules{When: "always", Expert: "x", Status: []string{"y"}}
	return w, m
}

func found(text string) *events.SubJobReported {
	output, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return &events.SubJobReported{Outcome: events.Success, Output: output, Spent: events.Spent{Tokens: 7}}
}

// proves D5
func TestWhatExpertsFindBeforePlanningGoesIntoThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{reports: map[string]*events.SubJobReported{
			"x": found("gold is up"), "y": {Outcome: events.ExecutionError, Error: &events.Fault{Code: events.CodeExecution, Message: "no database"}},
		}}
		w, m := curious(o)
		musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
		created := w.facts[0].Data.(*events.GraphCreated)
		if !strings.Contains(m.heard, "<finding source=\"x\" title=\"g\">\ngold is up\n</finding>") || created.Tokens != 17 {
			t.Errorf("%s; %+v", m.heard, created)
		}
		if len(created.Warnings) != 1 || !strings.Contains(created.Warnings[0].Error(), "y found nothing before planning") || !strings.Contains(created.Warnings[0].Cause, "no database") {
			t.Errorf("%v", created.Warnings)
		}
		first := o.issued[0]
		if first.SubJob != "~plan~1~investigate-1-1" || first.ReportID != "j/~plan~1~investigate-1-1/1" || first.Goal != "g" || first.Spec.Pool != "default" || first.Lease != goal().Lease {
			t.Errorf("%+v", first)
		}
	})
}

func TestAnExpertThatIsAskedReportsAndClaimsOnSubjectsOfItsPool(t *testing.T) {
	for pools, want := range map[bool]string{false: "", true: ".default"} {
		synctest.Test(t, func(t *testing.T) {
			o := &office{reports: map[string]*events.SubJobReported{"x": found("up"), "y": found("fine")}}
			w, _ := curious(o)
			seen := &shown{}
			w.pools, w.items = pools, seen
			musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
			if claim := o.issued[0].ClaimSubject; claim != "jobs.journal.j.~plan~1~investigate-1-1"+want {
				t.Errorf("claimed on %s", claim)
			}
			if report := o.issued[0].ReportSubject; !strings.HasSuffix(report, "~plan~1~investigate-1-1.1"+want) {
				t.Errorf("reported on %s", report)
			}
			if items := o.issued[0].ItemSubject; items != "jobs.item.j.~plan~1~investigate-1-1"+want {
				t.Errorf("shown on %s", items)
			}
			announced := 0
			for _, i := range seen.items {
				if i.Pool == "default" {
					announced++
				}
			}
			if want := len(o.issued); announced != map[bool]int{false: 0, true: want}[pools] {
				t.Errorf("%d of %d are announced with their pool: %v", announced, want, seen.items)
			}
		})
	}
}

func TestNobodyIsAskedTwiceAfterACrashAtAnyPoint(t *testing.T) {
	for _, point := range []Point{AtClaim, AtIntent, AtAnswered, AtKept, AtPublish, AtPublished} {
		synctest.Test(t, func(t *testing.T) {
			o := &office{reports: map[string]*events.SubJobReported{"x": found("up"), "y": found("fine")}}
			w, m := curious(o)
			w.dies(t, point, w.delivery(t, goal()))
			<-time.After(10 * time.Minute) // In virtual time: lease and limit pass.
			musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
			if len(o.issued) != 2 || len(o.closed) != 0 || !strings.Contains(m.heard, "fine") {
				t.Errorf("killed at %s: %d asked, closed %v, heard %s", point, len(o.issued), o.closed, m.heard)
			}
			if last := w.facts[len(w.facts)-1]; last.Kind != events.KindGraphCreated {
				t.Errorf("killed at %s: %s", point, last.Kind)
			}
		})
	}
}

func TestAnInvestigationEndsWithItsLimitAndThePlanIsMadeWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{reports: map[string]*events.SubJobReported{"y": found("fine")}}
		w, m := curious(o)
		w.looks.Timeout = events.Duration(time.Minute)
		began := time.Now()
		musttest.Do(t, w.run(t, func() { <-time.After(2 * time.Minute) }, w.delivery(t, goal())))
		created := w.facts[0].Data.(*events.GraphCreated)
		if len(o.closed) != 1 || o.closed[0] != "x: the investigation took too long" || len(created.Warnings) != 1 || created.Warnings[0].Code != events.CodeTimeout {
			t.Errorf("closed %v, warnings %v", o.closed, created.Warnings)
		}
		if !strings.Contains(m.heard, "fine") || !o.issued[0].Deadline.Equal(began.Add(time.Minute)) {
			t.Errorf("heard %s, deadline %s", m.heard, o.issued[0].Deadline)
		}
	})
}

func TestAnInvestigationIsWithdrawnWithAStopAndLeftToOthersAtADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := curious(&office{})
		musttest.Do(t, w.run(t, func() { w.loop.Cancel("j", "", 1, "enough") }, w.delivery(t, goal())))
		if o := w.desk.(*office); len(o.closed) != 2 || w.facts[0].Kind != events.KindPlanRejected {
			t.Errorf("closed %v, %s", o.closed, w.facts[0].Kind)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, _ := curious(&office{})
		musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
		if o := w.desk.(*office); len(o.closed) != 0 || len(w.facts) != 0 || !strings.Contains(strings.Join(w.lines, ","), "nak") {
			t.Errorf("closed %v, %v", o.closed, w.lines)
		}
	})
}

func TestAnInvestigationThatIsStoppedTellsWhatItsReportsHaveCost(t *testing.T) {
	for _, first := range []string{"x", "y"} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := curious(&office{reports: map[string]*events.SubJobReported{first: found("up")}})
			musttest.Do(t, w.run(t, func() { w.loop.Cancel("j", "", 1, "enough") }, w.delivery(t, goal())))
			if d := w.facts[0].Data.(*events.PlanRejected); d.Tokens != 7 {
				t.Errorf("%d tokens are told, the report of %s took 7", d.Tokens, first)
			}
		})
	}
}

func TestThatNobodyIsThereToLookAroundIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := curious(&office{})
		w.looks = planning.InvestigateRules{When: "always", Needs: "telepathy"}
		musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
		if list := w.facts[0].Data.(*events.GraphCreated).Warnings; len(list) != 1 || !strings.Contains(list[0].Message, "telepathy") || list[0].Hint == "" {
			t.Errorf("%v", list)
		}
	})
}
