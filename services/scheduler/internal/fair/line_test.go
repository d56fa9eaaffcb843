package fair

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// naive is the same rules, told plainly: a list, searched from its beginning.
type naive struct {
	tickets []Ticket
	// served are the groups of a priority in the order in which they came or had their last turn.
	served map[int][]string
}

func (n *naive) join(t Ticket) {
	if slices.ContainsFunc(n.tickets, func(o Ticket) bool { return o.Job == t.Job }) {
		return
	}
	n.tickets = append(n.tickets, t)
	if !slices.Contains(n.served[t.Priority], t.Group) {
		n.served[t.Priority] = append(n.served[t.Priority], t.Group)
	}
}

func (n *naive) next() (string, bool) {
	if len(n.tickets) == 0 {
		return "", false
	}
	best := slices.MaxFunc(n.tickets, func(a, b Ticket) int { return a.Priority - b.Priority }).Priority
	group := n.served[best][0]
	mine := func(t Ticket) bool { return t.Priority == best && t.Group == group }
	at := slices.IndexFunc(n.tickets, mine)
	job := n.tickets[at].Job
	n.tickets = slices.Delete(n.tickets, at, at+1)
	n.served[best] = n.served[best][1:]
	if slices.ContainsFunc(n.tickets, mine) {
		n.served[best] = append(n.served[best], group)
	}
	return job, true
}

func TestTurnsAreThoseOfThePlainRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var line Line
		plain := naive{served: map[int][]string{}}
		for i := range rapid.IntRange(1, 200).Draw(t, "actions") {
			if rapid.Bool().Draw(t, "join") {
				ticket := Ticket{
					Job: "j" + strconv.Itoa(rapid.IntRange(0, 30).Draw(t, "job")), Group: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "group"),
					Priority: rapid.IntRange(-2, 2).Draw(t, "priority"),
				}
				line.Join(ticket)
				plain.join(ticket)
			} else {
				got, ok := line.Next()
				want, any := plain.next()
				if got != want || ok != any {
					t.Fatalf("action %d: %q %v, want %q %v", i, got, ok, want, any)
				}
			}
			if line.Len() != len(plain.tickets) {
				t.Fatalf("action %d: %d wait, want %d", i, line.Len(), len(plain.tickets))
			}
		}
	})
}

// A group that waits has its turn before any other of its priority has its second.
func TestNobodyHasASecondTurnWhileAnotherWaitsForTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var line Line
		groups := map[string]string{}
		for i := range rapid.IntRange(2, 100).Draw(t, "jobs") {
			ticket := Ticket{Job: "j" + strconv.Itoa(i), Group: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "group")}
			groups[ticket.Job] = ticket.Group
			line.Join(ticket)
		}
		waiting := map[string]int{}
		for _, group := range groups { // any order: it only counts.
			waiting[group]++
		}
		since := map[string]int{}
		for turn := 1; line.Len() > 0; turn++ {
			job, _ := line.Next()
			group := groups[job]
			delete(groups, job)
			if gap := turn - since[group]; gap > len(waiting) {
				t.Fatalf("group %q waited for %d turns, %d groups wait", group, gap, len(waiting))
			}
			since[group] = turn
			if waiting[group]--; rapid.Bool().Draw(t, "again") {
				waiting[group]++
				groups[job] = group
				line.Join(Ticket{Job: job, Group: group})
				if turn > 300 {
					return
				}
			}
		}
	})
}

func BenchmarkLine(b *testing.B) {
	var line Line
	tickets := make([]Ticket, 10_000)
	for i := range tickets {
		tickets[i] = Ticket{Job: "j" + strconv.Itoa(i), Group: "g" + strconv.Itoa(i%100), Priority: i % 3}
		line.Join(tickets[i])
	}
	at := map[string]int{}
	for i := range tickets {
		at[tickets[i].Job] = i
	}
	for b.Loop() {
		job, _ := line.Next()
		line.Join(tickets[at[job]])
	}
}
