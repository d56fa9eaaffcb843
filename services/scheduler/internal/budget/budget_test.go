package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// shelf is a bucket in memory; every nth write loses to another writer.
type shelf struct {
	values   map[string][]byte
	revision map[string]uint64
	writes   int
	lose     int
}

func newShelf() *shelf { return &shelf{values: map[string][]byte{}, revision: map[string]uint64{}} }

func (s *shelf) GetLeader(_ context.Context, key string) ([]byte, uint64, error) {
	value, ok := s.values[key]
	if !ok {
		return nil, s.revision[key], bus.ErrNotFound
	}
	return value, s.revision[key], nil
}

func (s *shelf) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	s.writes++
	if revision != s.revision[key] || s.lose > 0 && s.writes%s.lose == 0 {
		return 0, bus.ErrConflict
	}
	s.values[key] = value
	s.revision[key]++
	return s.revision[key], nil
}

func (s *shelf) Delete(_ context.Context, key string) error {
	delete(s.values, key)
	return nil
}

func tokens(n int64) events.Spent { return events.Spent{Tokens: n} }

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func noon() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

var both = Budgets{Session: tokens(1 << 40), Day: tokens(1 << 40)}

// Jobs spend, states are saved, schedulers die between any two steps and continue from the last save: exactly what was spent is
// counted, once.
func TestNothingIsCountedTwiceOrLostByACrash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := newShelf(), noon()
		s.lose = rapid.IntRange(2, 5).Draw(t, "lose")
		l := New(s, both, at.read)
		type job struct{ spent, saved int64 }
		jobs := map[string]*job{}
		perDay, noted := map[string]int64{}, map[string]int64{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := fmt.Sprintf("j%d", rapid.IntRange(0, 9).Draw(t, "job"))
			j := jobs[id]
			if j == nil {
				j = &job{}
				jobs[id] = j
			}
			if rapid.IntRange(0, 9).Draw(t, "night") == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(jobs)), func(id string) bool { return noted[id] != jobs[id].saved }) {
				at.now = at.now.AddDate(0, 0, 1) // With nothing between account and state.
			}
			j.spent += rapid.Int64Range(0, 50).Draw(t, "spent")
			musttest.Do(t, l.Note(t.Context(), id, "s", tokens(j.saved), tokens(j.spent)))
			perDay[at.now.Format(time.DateOnly)] += j.spent - noted[id]
			noted[id] = j.spent
			if rapid.Bool().Draw(t, "saved") {
				j.saved = j.spent
			} else if rapid.Bool().Draw(t, "crash") {
				l = New(s, both, at.read)
			}
		}
		var total int64
		for _, n := range noted { // any order: it only adds.
			total += n
		}
		if got := read(s.values[sessionKey("s")]).sum().Tokens; got != total {
			t.Errorf("the session has spent %d, counted are %d", total, got)
		}
		if got, err := New(s, both, at.read).today(t.Context(), 0); err != nil || got.Tokens != perDay[at.now.Format(time.DateOnly)] {
			t.Errorf("the day has spent %d, counted are %d, %v", perDay[at.now.Format(time.DateOnly)], got.Tokens, err)
		}
	})
}

func TestWhatIsLeftIsTheLeastOfAllBudgets(t *testing.T) {
	at := noon()
	l := New(newShelf(), Budgets{Session: events.Spent{Tokens: 100, CostUSD: 2}, Day: events.Spent{Tokens: 150}}, at.read)
	note := func(job, session string, spent events.Spent) {
		t.Helper()
		musttest.Do(t, l.Note(t.Context(), job, session, events.Spent{}, spent))
		at.now = at.now.Add(time.Minute)
	}
	left := func(session string) string {
		t.Helper()
		got, err := l.Left(t.Context(), session)
		var faults events.Faults
		if err != nil && !errors.As(err, &faults) {
			t.Fatal(err)
		}
		if len(faults) > 0 {
			return faults.Error()
		}
		return fmt.Sprintf("%d %.1f", got.Tokens, got.CostUSD)
	}
	for _, step := range []struct {
		job, session string
		spent        events.Spent
		ask, want    string
	}{
		{"a", "s", events.Spent{Tokens: 30, CostUSD: 0.5}, "s", "70 1.5"},
		{"b", "t", tokens(60), "s", "60 1.5"},
		{"b", "t", tokens(60), "", "60 0.0"},
		{"a", "s", events.Spent{Tokens: 30, CostUSD: 2.5}, "s", "session \"s\" has spent 2.5000 of 2.0000 USD"},
		{"c", "", tokens(60), "t", "all jobs of this day have spent 150 of 150 tokens"},
	} {
		note(step.job, step.session, step.spent)
		if got := left(step.ask); !strings.Contains(got, step.want) {
			t.Errorf("after %s spent %+v, %q has %s, want %s", step.job, step.spent, step.ask, got, step.want)
		}
	}
	at.now = at.now.AddDate(0, 0, 1)
	if got := left("u"); got != "100 2.0" {
		t.Errorf("the next day: %s", got)
	}
}

func TestBudgetsAreShownWithWhatIsSpentAndWhenTheyRenew(t *testing.T) {
	at := noon()
	l := New(newShelf(), Budgets{Session: events.Spent{Tokens: 100, CostUSD: 2}, Day: tokens(150)}, at.read)
	show := func(session string) []verb.BudgetLine {
		t.Helper()
		return musttest.Get(l.Lines(t.Context(), session))(t)
	}
	tomorrow := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	empty := []verb.BudgetLine{{Scope: "day", Limit: tokens(150), Left: tokens(150), Renews: tomorrow}}
	musttest.Equal(t, empty, show(""))
	musttest.Do(t, l.Note(t.Context(), "a", "s", events.Spent{}, events.Spent{Tokens: 130, CostUSD: 0.5}))
	want := []verb.BudgetLine{
		{Scope: "session", ID: "s", Limit: events.Spent{Tokens: 100, CostUSD: 2}, Spent: events.Spent{Tokens: 130, CostUSD: 0.5}, Left: events.Spent{CostUSD: 1.5}},
		{Scope: "day", Limit: tokens(150), Spent: events.Spent{Tokens: 130, CostUSD: 0.5}, Left: tokens(20), Renews: tomorrow},
	}
	if diff := cmp.Diff(want, show("s")); diff != "" { // At once, although admissions use a sum for a second.
		t.Error(diff)
	}
	if lines, err := New(newShelf(), Budgets{}, at.read).Lines(t.Context(), "s"); err != nil || len(lines) > 0 {
		t.Errorf("without budgets: %+v, %v", lines, err)
	}
}

func TestSumsBeyondAllNumbersStayNumbers(t *testing.T) {
	a := read(nil)
	for _, job := range []string{"a", "b"} {
		a.note(job, events.Spent{}, events.Spent{Tokens: math.MaxInt64 - 1, CostUSD: 1.7e308})
	}
	if got, want := a.sum(), (events.Spent{Tokens: math.MaxInt64, CostUSD: math.MaxFloat64}); got != want {
		t.Errorf("spent %+v, want %+v", got, want)
	}
}

func TestAccountsStaySmallAndOldDaysGo(t *testing.T) {
	s, at := newShelf(), noon()
	l := New(s, both, at.read)
	full := read(nil)
	for i := range mostEntries {
		full.note(fmt.Sprintf("j%d", i), events.Spent{}, tokens(1))
	}
	value, err := json.Marshal(full)
	if err != nil || len(full.Entries) != mostEntries {
		t.Fatal(len(full.Entries), err)
	}
	s.values[sessionKey("s")] = value
	for i := range 10 {
		musttest.Do(t, l.Note(t.Context(), fmt.Sprintf("k%d", i), "s", events.Spent{}, tokens(1)))
	}
	a := read(s.values[sessionKey("s")])
	if len(a.Entries) > mostEntries || a.sum().Tokens != mostEntries+10 {
		t.Errorf("%d entries, %d tokens", len(a.Entries), a.sum().Tokens)
	}
	for range 2 * keptDays {
		at.now = at.now.AddDate(0, 0, 1)
		musttest.Do(t, l.Note(t.Context(), "j", "", events.Spent{}, tokens(at.now.Unix())))
	}
	days := 0
	for key := range s.values {
		if strings.HasPrefix(key, "spent.day.") && strings.HasSuffix(key, fmt.Sprintf(".%d", shareOf("j"))) {
			days++
		}
	}
	if days != keptDays {
		t.Errorf("%d days are kept, want %d", days, keptDays)
	}
}
