package planstore_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planstore"
)

// shelf is a store with limits, and the book that a test uses.
type shelf struct {
	*testing.T
	*planstore.Store
	bus  *bus.Bus
	book string
}

// on runs a test over a store in virtual time.
func on(t *testing.T, book string, l plan.Limits, f func(s shelf)) {
	bustest.Virtual(t, func(t *testing.T) {
		b := broker(t, bustest.Settings{Quiet: true})
		f(shelf{t, planstore.New(b, cards{}, plan.Options{}, l, slog.New(slog.DiscardHandler)), b, book})
	})
}

// do carries out an operation that must succeed.
func (s shelf) do(op plan.Operation) planstore.Reply {
	s.Helper()
	return musttest.Get(s.Do(s.Context(), s.book, op))(s)
}

func (s shelf) create(id string) planstore.Reply {
	s.Helper()
	return s.do(plan.Operation{Command: plan.OpCreate, PlanID: id, Title: "T", Steps: []string{"a"}})
}

// ids returns the ids of the book's plans, in order.
func (s shelf) ids() string {
	s.Helper()
	var ids []string
	for _, b := range s.do(plan.Operation{Command: plan.OpList}).Plans {
		ids = append(ids, b.ID)
	}
	return strings.Join(ids, " ")
}

func TestAPlanGoesWhenItsTimeSinceTheLastUseIsOver(t *testing.T) {
	on(t, "", plan.Limits{Age: 100 * time.Minute}, func(s shelf) {
		for _, id := range []string{"old", "marked", "left", "active"} {
			s.create(id)
		}
		s.do(plan.Operation{Command: plan.OpSetActive, PlanID: "left"})
		<-time.After(40 * time.Minute)
		zero := 0
		s.do(plan.Operation{Command: plan.OpMarkStep, PlanID: "marked", StepIndex: &zero, StepStatus: "completed"})
		s.do(plan.Operation{Command: plan.OpSetActive, PlanID: "active"}) // "left" was in use until now.
		s.do(plan.Operation{Command: plan.OpGet, PlanID: "old"})          // Looking at a plan does not count as use.
		list := s.do(plan.Operation{Command: plan.OpList})
		in := map[string]float64{}
		for _, b := range list.Plans {
			if !b.Goes.IsZero() {
				in[b.ID] = time.Until(b.Goes).Round(time.Second).Minutes()
			}
		}
		if diff := cmp.Diff(map[string]float64{"old": 60, "marked": 100, "left": 100}, in); diff != "" {
			t.Errorf("minutes that are left:\n%s", diff)
		}
		if n := strings.Count(list.Text, ", kept until 2000-01-01 0"); n != 3 || strings.Contains(list.Text, "(active): T - 0/1 steps completed, kept") {
			t.Errorf("%d of %s", n, list.Text)
		}
		<-time.After(59 * time.Minute)
		if got := s.ids(); got != "old marked left active" {
			t.Errorf("before: %s", got)
		}
		<-time.After(2 * time.Minute)
		if got := s.ids(); got != "marked left active" {
			t.Errorf("after: %s", got)
		}
		s.create("old") // The id is free again.
		if raw, _, err := s.bus.Plans().GetLeader(s.Context(), bus.BookKey("main")); err != nil || strings.Contains(string(raw), "goes_at") {
			t.Errorf("%v: kept is what depends on the settings: %s", err, raw)
		}
	})
}

func TestTidyRemovesWhatIsOverFromBooksThatNobodyOpens(t *testing.T) {
	on(t, "b1", plan.Limits{Age: time.Hour}, func(s shelf) {
		s.create("p1")
		s.create("p2")
		s.book = "b2"
		s.create("only")
		s.do(plan.Operation{Command: plan.OpSetActive, PlanID: "only"})
		s.do(plan.Operation{Command: plan.OpDelete, PlanID: "only"})
		musttest.Get(s.bus.Plans().Put(s.Context(), bus.BookKey("torn"), []byte("{"), 0))(t)
		go s.Tidy(s.Context()) // Ends with the test.
		<-time.After(2 * time.Hour)
		s.book = "b1"
		raw, _, err := s.bus.Plans().GetLeader(s.Context(), bus.BookKey("b1"))
		if text := string(raw); err != nil || strings.Contains(text, `"p1"`) || !strings.Contains(text, `"p2"`) || strings.Contains(text, "goes_at") {
			t.Errorf("%v %s", err, raw)
		}
		if raw, _, err := s.bus.Plans().GetLeader(s.Context(), bus.BookKey("torn")); err != nil || string(raw) != "{" {
			t.Errorf("a book that cannot be read: %v %s", err, raw)
		}
		s.do(plan.Operation{Command: plan.OpDelete, PlanID: "p2"})
		s.create("p3")
	})
}

func TestABookOfAnEarlierReleaseCountsFromItsLastWrite(t *testing.T) {
	on(t, "", plan.Limits{Age: 100 * time.Minute}, func(s shelf) {
		old := `{"boards":[{"id":"a","title":"A","lines":[{"text":"x"}]},{"id":"b","title":"B","lines":[{"text":"x"}]}]}`
		musttest.Get(s.bus.Plans().Put(s.Context(), bus.BookKey("main"), []byte(old), 0))(t)
		<-time.After(90 * time.Minute)
		s.do(plan.Operation{Command: plan.OpUpdate, PlanID: "a", Title: "A2"})
		<-time.After(20 * time.Minute)
		if got := s.ids(); got != "a" {
			t.Errorf("%q", got)
		}
	})
}

func TestABookKeepsTheLimitOfPlansAndTheActiveOne(t *testing.T) {
	on(t, "", plan.Limits{Number: 3}, func(s shelf) {
		for _, id := range []string{"p1", "p2", "p3"} {
			s.create(id)
			<-time.After(time.Minute)
		}
		s.do(plan.Operation{Command: plan.OpUpdate, PlanID: "p1", Title: "T1"})
		reply := s.create("p4")
		if !slices.Equal(reply.Removed, []string{"p2"}) || !strings.Contains(reply.Text, "p2 went: the book keeps 3 plans") || reply.Plan.ID != "p4" {
			t.Errorf("%v %s", reply.Removed, reply.Text)
		}
		if got := s.ids(); got != "p1 p3 p4" {
			t.Errorf("%s", got)
		}
		s.do(plan.Operation{Command: plan.OpSetActive, PlanID: "p1"})
		<-time.After(time.Minute)
		for i := range 3 {
			s.create(fmt.Sprint("q", i))
			s.do(plan.Operation{Command: plan.OpSetActive, PlanID: "p1"})
			<-time.After(time.Minute)
		}
		if got := s.ids(); got != "p1 q1 q2" {
			t.Errorf("%s", got)
		}
	})
}

func TestThePlansOfAJobAtWorkStay(t *testing.T) {
	on(t, bus.AgentBook("j1"), plan.Limits{Age: time.Hour, Number: 2}, func(s shelf) {
		begin(s.T, s.bus)
		go s.Tidy(s.Context()) // Ends with the test.
		s.create("p1")
		s.create("p2")
		_, err := s.Do(s.Context(), s.book, plan.Operation{Command: plan.OpCreate, PlanID: "p3", Title: "T", Steps: []string{"a"}})
		if code(err) != events.CodeTooLarge {
			t.Errorf("a third plan: %v", err)
		}
		<-time.After(3 * time.Hour)
		if got := s.ids(); got != "p1 p2" {
			t.Errorf("of a job at work: %s", got)
		}
		state(s.T, s.bus, events.Event{Kind: events.KindStopRequested, Data: &events.StopRequested{}})
		<-time.After(2 * time.Hour)
		if got := s.ids(); got != "p2" {
			t.Errorf("of a job that is over: %s", got)
		}
		raw, _, err := s.bus.Plans().GetLeader(s.Context(), bus.BookKey(s.book))
		if err != nil || strings.Contains(string(raw), `"p1"`) {
			t.Errorf("%v %s", err, raw)
		}
	})
}
