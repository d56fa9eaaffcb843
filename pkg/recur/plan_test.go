package recur

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment/momenttest"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// tape is a schedule with its facts.
type tape struct {
	t     *testing.T
	plan  *Plan
	facts []schedule.Fact
}

func begin(t *testing.T, spec schedule.Spec, now time.Time) *tape {
	t.Helper()
	if spec.Request.Goal == "" {
		spec.Request.Goal = "g"
	}
	if faults := spec.Validate(); len(faults) > 0 {
		t.Fatal(faults)
	}
	f := schedule.Fact{Kind: schedule.Created, ID: "s", Seq: 1, Time: now, Data: &schedule.Creation{Spec: spec, Digest: "d"}}
	p, ok := Begin(&f, time.LoadLocation)
	if !ok || p.Blocked != "" {
		t.Fatal(p.Blocked)
	}
	return &tape{t: t, plan: p, facts: []schedule.Fact{f}}
}

func (s *tape) say(now time.Time, kind events.Kind, key string, data any) {
	f := schedule.Fact{Kind: kind, ID: "s", Key: key, Seq: s.plan.Seq + 1, Time: now, Data: data}
	s.facts = append(s.facts, f)
	s.plan.Step(&f)
}

// owes returns the pending commands of an action.
func (s *tape) owes(a Action) (list []Command) {
	for _, c := range s.plan.Pending() {
		if c.Action == a {
			list = append(list, c)
		}
	}
	return list
}

// fire lets the broker fire the armed timer, late by this much, and returns the time.
func (s *tape) fire(late time.Duration) time.Time {
	s.t.Helper()
	armed := s.owes(Arm)
	if len(armed) != 1 {
		s.t.Fatalf("%d timers are armed", len(armed))
	}
	due, _ := schedule.Moment(armed[0].Key)
	s.say(armed[0].At.Add(late), schedule.Due, armed[0].Key, &schedule.Moved{Due: due})
	return due
}

// work admits and ends whatever starts.
func (s *tape) work(now time.Time) (started []time.Time) {
	for {
		starts := s.owes(Start)
		if len(starts) == 0 {
			return started
		}
		for _, c := range starts {
			started = append(started, c.At)
			s.say(now, schedule.Started, c.Key, &schedule.Moved{Due: c.At})
			s.say(now, schedule.Ended, c.Key, &schedule.End{Status: events.Finished, DurationMS: 1})
		}
	}
}

func TestAYearOfMomentsIsWhatANaiveClockCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"} {
		z, from := momenttest.Zone(t, name), momenttest.Moment(t, "2026-01-15T10:20:30Z")
		to := from.AddDate(1, 0, 0)
		e := momenttest.Expression{
			Text: "17,47 2,14 * * *", Minutes: []int{17, 47}, Hours: []int{2, 14}, AnyDay: true, AnyWeekday: true,
			Days: upTo(1, 31), Months: upTo(1, 12), Week: upTo(0, 6),
		}
		s := begin(t, schedule.Spec{When: events.Schedule{Cron: e.Text, Timezone: name}, Until: to}, from)
		var got []time.Time
		for s.plan.Status == schedule.Active {
			got = append(got, s.work(s.fire(time.Duration(r.IntN(900))*time.Millisecond))...)
		}
		if diff := cmp.Diff(e.Enumerate(from.Truncate(time.Minute), to, z), got); diff != "" {
			t.Errorf("%s (-wall +got):\n%s", name, diff)
		}
		if s.plan.Runs != len(got) || s.plan.Skipped != 0 {
			t.Errorf("%s: %d runs, %d skipped of %d", name, s.plan.Runs, s.plan.Skipped, len(got))
		}
	}
}

func upTo(least, most int) (all []int) {
	for v := least; v <= most; v++ {
		all = append(all, v)
	}
	return all
}

// what returns the state in its stored form.
func what(t *testing.T, p *Plan) string {
	t.Helper()
	return string(musttest.JSON(t, &p.State))
}

// TestAnyHistory checks what must be true of every history: one run at a time, each due time once, the fold is the state, and a
// condensed state continues like the one that it replaces.
func TestAnyHistory(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		spec := schedule.Spec{
			When: events.Schedule{IntervalMinutes: 1 + r.IntN(5)}, MaxRuns: r.IntN(3) * 10, MaxFailures: r.IntN(3),
			Overlap: []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapQueue, schedule.OverlapReplace}[r.IntN(3)],
			Missed:  []schedule.Missed{schedule.MissedOne, schedule.MissedSkip, schedule.MissedAll}[r.IntN(3)],
			Jitter:  events.Duration(time.Duration(r.IntN(2)) * 20 * time.Second),
		}
		now := momenttest.Moment(t, "2026-01-01T00:00:00Z")
		s := begin(t, spec, now)
		began := map[string]int{}
		for range 120 {
			now = now.Add(time.Duration(r.IntN(90)) * time.Second)
			s.chance(r, now, began)
			live := 0
			for _, run := range s.plan.Recent {
				if run.Status == schedule.RunStarting || run.Status == schedule.RunRunning {
					live++
				}
			}
			if live > 1 {
				t.Fatalf("seed %d: %d runs at once", seed, live)
			}
			if p := s.plan; p.Status == schedule.Active == p.Next.IsZero() || p.MaxRuns > 0 && p.Runs > p.MaxRuns {
				t.Fatalf("seed %d: %s, next %s, %d runs of %d", seed, p.Status, p.Next, p.Runs, p.MaxRuns)
			}
		}
		for key, n := range began {
			if n > 1 {
				t.Fatalf("seed %d: run %s began %d times", seed, key, n)
			}
		}
		again, _ := Begin(&s.facts[0], time.LoadLocation)
		cut := 1 + r.IntN(len(s.facts))
		for i := 1; i < len(s.facts); i++ {
			if i == cut {
				state := again.State
				text := musttest.JSON(s.t, &state)
				var kept schedule.State
				musttest.Decode(s.t, text, &kept)
				f := schedule.Fact{Kind: schedule.Condensed, ID: "s", Seq: state.Seq, Time: s.facts[i-1].Time, Data: &kept}
				again, _ = Begin(&f, time.LoadLocation)
			}
			again.Step(&s.facts[i])
			again.Step(&s.facts[i])
		}
		again.Facts = s.plan.Facts
		if diff := cmp.Diff(what(s.t, s.plan), what(s.t, again)); diff != "" {
			s.t.Fatalf("the fold is another (-state +fold):\n%s", diff)
		}
	}
}

// chance has one of the things happen that may.
func (s *tape) chance(r *rand.Rand, now time.Time, began map[string]int) {
	owed := s.plan.Pending()
	switch n := r.IntN(10); {
	case n == 0:
		kinds := []events.Kind{schedule.Paused, schedule.Resumed, schedule.Triggered}
		s.say(now, kinds[r.IntN(len(kinds))], "", &schedule.Word{})
	case n == 1 && len(s.facts) > 1: // An earlier fact is repeated.
		f := s.facts[1+r.IntN(len(s.facts)-1)]
		s.say(now, f.Kind, f.Key, f.Data)
		if f.Kind == schedule.Triggered {
			return
		}
	case n < 4:
		for _, run := range s.plan.Recent {
			if run.Status == schedule.RunRunning {
				end := []events.Status{events.Finished, events.Failed, events.Stopped}[r.IntN(3)]
				s.say(now, schedule.Ended, run.Key, &schedule.End{Status: end, DurationMS: 5})
				return
			}
		}
	case len(owed) > 0:
		c := owed[r.IntN(len(owed))]
		switch {
		case c.Action == Arm && !c.At.After(now):
			due, _ := schedule.Moment(c.Key)
			s.say(now, schedule.Due, c.Key, &schedule.Moved{Due: due})
		case c.Action == Start && !c.By.IsZero() && now.After(c.By):
			s.say(now, schedule.Late, c.Key, &schedule.Moved{Due: c.At})
		case c.Action == Start:
			began[c.Key]++
			s.say(now, schedule.Started, c.Key, &schedule.Moved{Due: c.At})
		case c.Action != Arm:
			s.plan.Sent(c)
		}
	}
}

func TestJitterDelaysEachMomentByItsOwnShare(t *testing.T) {
	s := begin(t, schedule.Spec{When: events.Schedule{IntervalMinutes: 60}, Jitter: events.Duration(10 * time.Minute)}, momenttest.Moment(t, "2026-01-01T00:00:00Z"))
	var shares []time.Duration
	for range 50 {
		due := s.plan.Next
		share := s.plan.Fires(due).Sub(due)
		if share < 0 || share >= 10*time.Minute || share != s.plan.Fires(due).Sub(due) {
			t.Fatalf("%s is delayed by %s", due, share)
		}
		shares = append(shares, share)
		s.work(s.fire(0))
	}
	slices.Sort(shares)
	if n := len(slices.Compact(shares)); n < 45 {
		t.Errorf("%d different shares of 50", n)
	}
}

func TestAKindOfALaterVersionLeavesTheScheduleAloneUntilItIsDeleted(t *testing.T) {
	now := momenttest.Moment(t, "2026-01-01T00:00:00Z")
	s := begin(t, schedule.Spec{When: events.Schedule{IntervalMinutes: 60}}, now)
	for seq, fault := range []*events.Fault{{Code: events.CodeSkippable}, {Code: events.CodeMalformed}, {Code: events.CodeMustUnderstand, Message: "unknown kind"}} {
		s.plan.Step(&schedule.Fact{ID: "s", Seq: uint64(seq) + 2, Time: now, Fault: fault})
		if owed := len(s.plan.Pending()); (owed == 0) != (fault.Code == events.CodeMustUnderstand) {
			t.Errorf("behind %s %d commands are owed", fault.Code, owed)
		}
	}
	s.say(now, schedule.Deleted, "", &schedule.Word{})
	if diff := cmp.Diff([]Command{{Action: Erase}}, s.plan.Pending()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestARunThatEndsBeforeItsStartIsStatedHasBegun(t *testing.T) {
	now := momenttest.Moment(t, "2026-01-01T00:00:00Z")
	s := begin(t, schedule.Spec{When: events.Schedule{IntervalMinutes: 1}}, now)
	s.fire(0)
	start := s.owes(Start)[0]
	end := start.At.Add(3 * time.Second)
	s.say(end, schedule.Ended, start.Key, &schedule.End{Status: events.Finished, DurationMS: 2000})
	s.say(end.Add(time.Second), schedule.Started, start.Key, &schedule.Moved{Due: start.At})
	if r := s.plan.Recent[0]; !r.Started.Equal(start.At.Add(time.Second)) || !r.Ended.Equal(end) || r.Status != schedule.RunStatus(events.Finished) {
		t.Errorf("%+v", r)
	}
}

func TestMoreMissedMomentsThanMayWait(t *testing.T) {
	s := begin(t, schedule.Spec{When: events.Schedule{IntervalMinutes: 1}, Missed: schedule.MissedAll}, momenttest.Moment(t, "2026-01-01T00:00:00Z"))
	s.fire(10*24*time.Hour + time.Second)
	started := s.work(s.plan.Last)
	if len(started) != schedule.MaxWaiting || s.plan.Runs+s.plan.Skipped != 14401 {
		t.Errorf("%d runs began; %d runs and %d skipped of 14401", len(started), s.plan.Runs, s.plan.Skipped)
	}
	if want := s.plan.Last.Add(time.Minute); !s.plan.Next.Equal(want) {
		t.Errorf("next is %s, want %s", s.plan.Next, want)
	}
	if got := fmt.Sprint(started[0], started[len(started)-1]); got != fmt.Sprint(s.plan.Last.Add(-99*time.Minute), s.plan.Last) {
		t.Errorf("runs of %s", got)
	}
}

// proves V20
func TestTheFirstRunBeginsAtOnceIfTheScheduleSaysSo(t *testing.T) {
	now := momenttest.Moment(t, "2026-01-15T10:20:30Z")
	for first, want := range map[string]int{"": 0, "due": 0, "now": 1} {
		s := begin(t, schedule.Spec{When: events.Schedule{DailyTime: "09:00", FirstRun: first}, MaxRuns: 5}, now)
		if started := s.work(now); len(started) != want {
			t.Errorf("%q: started at %v", first, started)
		}
		if len(s.owes(Arm)) != 1 || s.plan.Runs != 0 {
			t.Errorf("%q: %d timers, %d runs", first, len(s.owes(Arm)), s.plan.Runs)
		}
		s.fire(0)
		if started := s.work(now); len(started) != 1 || s.plan.Runs != 1 {
			t.Errorf("%q: started at %v, %d runs", first, started, s.plan.Runs)
		}
	}
}
