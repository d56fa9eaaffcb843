package fair

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// naive has the same rules in a plain form: a list, searched from its beginning.
type naive struct {
	items  []Item
	rounds map[int]*round // By priority; one without jobs has none.
}

// round has the groups of a priority: those whose turn comes in this round, those whose turn comes in the next one, those that had
// it and have no jobs, and how many joined during the round.
type round struct {
	now, next, had []string
	late           int
}

func (n *naive) join(t Item) {
	if slices.ContainsFunc(n.items, func(o Item) bool { return o.Job == t.Job }) {
		return
	}
	n.items = append(n.items, t)
	r := n.rounds[t.Priority]
	if r == nil {
		r = &round{}
		n.rounds[t.Priority] = r
	}
	switch others := len(r.now) + len(r.next); {
	case slices.Contains(r.now, t.Group), slices.Contains(r.next, t.Group):
	case t.Served, slices.Contains(r.had, t.Group), r.late >= max(1, others):
		r.next = append(r.next, t.Group)
	default:
		r.now = append(r.now, t.Group)
		r.late++
	}
}

func (n *naive) next() (string, bool) {
	if len(n.items) == 0 {
		return "", false
	}
	best := slices.MaxFunc(n.items, func(a, b Item) int { return a.Priority - b.Priority }).Priority
	r := n.rounds[best]
	if len(r.now) == 0 {
		*r = round{now: r.next}
	}
	group := r.now[0]
	r.now = r.now[1:]
	mine := func(t Item) bool { return t.Priority == best && t.Group == group }
	at := slices.IndexFunc(n.items, mine)
	job := n.items[at].Job
	n.items = slices.Delete(n.items, at, at+1)
	if slices.ContainsFunc(n.items, mine) {
		r.next = append(r.next, group)
	} else {
		r.had = append(r.had, group)
	}
	if !slices.ContainsFunc(n.items, func(t Item) bool { return t.Priority == best }) {
		delete(n.rounds, best)
	}
	return job, true
}

func TestTurnsAreThoseOfThePlainRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queue Queue
		plain := naive{rounds: map[int]*round{}}
		for i := range rapid.IntRange(1, 200).Draw(t, "actions") {
			if rapid.Bool().Draw(t, "join") {
				item := Item{
					Job: "j" + strconv.Itoa(rapid.IntRange(0, 30).Draw(t, "job")), Group: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "group"),
					Priority: rapid.IntRange(-2, 2).Draw(t, "priority"), Served: rapid.Bool().Draw(t, "served"),
				}
				queue.Join(item)
				plain.join(item)
			} else {
				got, ok := queue.Next()
				want, any := plain.next()
				if got != want || ok != any {
					t.Fatalf("action %d: %q %v, want %q %v", i, got, ok, want, any)
				}
			}
			if queue.Len() != len(plain.items) {
				t.Fatalf("action %d: %d wait, want %d", i, queue.Len(), len(plain.items))
			}
		}
	})
}

// A group that waits has its turn before any other has its third: a newcomer may come in before it once in a round.
func TestEachGroupHasItsTurnWithinTwoRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queue Queue
		groups, turns := map[string]string{}, 0
		since := map[string]map[string]int{} // The turns of the others while a group waits.
		join := func() {
			item := Item{
				Job: "j" + strconv.Itoa(len(groups)), Group: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "group"),
				Served: rapid.Bool().Draw(t, "served"),
			}
			groups[item.Job] = item.Group
			queue.Join(item)
			if since[item.Group] == nil {
				since[item.Group] = map[string]int{}
			}
		}
		left := map[string]int{}
		for range rapid.IntRange(2, 60).Draw(t, "jobs") {
			join()
		}
		for _, group := range groups { // any order: it only counts.
			left[group]++
		}
		for ; queue.Len() > 0 && turns < 300; turns++ {
			job, _ := queue.Next()
			group := groups[job]
			for other, had := range since { // any order: each by itself.
				if other == group {
					continue
				}
				if had[group]++; had[group] > 2 {
					t.Fatalf("group %q had %d turns while %q waits", group, had[group], other)
				}
			}
			if left[group]--; left[group] == 0 {
				delete(since, group)
			} else {
				since[group] = map[string]int{}
			}
			if rapid.Bool().Draw(t, "again") {
				before := len(groups)
				join()
				left[groups["j"+strconv.Itoa(before)]]++
			}
		}
	})
}

// A group that arrives behind another's flood is next, even if the flood's first job had its turn without a wait.
func TestANewcomerIsNext(t *testing.T) {
	var queue Queue
	for i := range 5 {
		queue.Join(Item{Job: "flood" + strconv.Itoa(i), Group: "greedy", Served: i == 0})
	}
	var got []string
	for range 2 {
		queue.Join(Item{Job: "one" + strconv.Itoa(len(got)), Group: "one" + strconv.Itoa(len(got))})
		for range 2 {
			job, _ := queue.Next()
			got = append(got, job)
		}
	}
	if want := []string{"one0", "flood0", "one2", "flood1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkQueue(b *testing.B) {
	var queue Queue
	items := make([]Item, 10_000)
	for i := range items {
		items[i] = Item{Job: "j" + strconv.Itoa(i), Group: "g" + strconv.Itoa(i%100), Priority: i % 3}
		queue.Join(items[i])
	}
	at := map[string]int{}
	for i := range items {
		at[items[i].Job] = i
	}
	for b.Loop() {
		job, _ := queue.Next()
		queue.Join(items[at[job]])
	}
}

func TestEverySecondTurnOfAGroupIsForTheLastThatCame(t *testing.T) {
	var l Queue
	for _, job := range []string{"1", "2", "3", "4", "5"} {
		l.Join(Item{Job: job, Late: true})
	}
	for _, job := range []string{"a", "b"} {
		l.Join(Item{Job: job, Group: "in order"})
	}
	order := ""
	for job, ok := l.Next(); ok; job, ok = l.Next() {
		order += job
	}
	if order != "1a5b243" {
		t.Errorf("served %q", order)
	}
}
