package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// shorten joins neighbouring steps of a model's plan that has more steps than advised. No work is lost: a joined step has the goals
// of both. Steps of different experts stay separate; if the plan is still too long, it runs as it is.
func (d *draft) shorten(most int) {
	had := len(d.steps)
	if most <= 0 || had <= most || !d.inOrder() {
		return
	}
	var joined []string
	for len(d.steps) > most {
		at := d.joint()
		if at < 0 {
			break
		}
		joined = append(joined, fmt.Sprintf("%s takes over %s", d.steps[at].given(), d.steps[at+1].given()))
		d.join(at)
	}
	message := fmt.Sprintf("the plan had %d steps, %d were asked for", had, most)
	switch {
	case len(joined) > 0:
		message += ": " + some(joined, 8)
	default:
		message += "; they are for different experts and stay apart"
	}
	if n := len(d.steps); n > most && len(joined) > 0 {
		message += fmt.Sprintf("; %d remain, which are for different experts", n)
	}
	d.warnings.add(events.CodeTooLarge, d.stepsField(), message, "raise limits.max_steps to keep them apart")
}

// inOrder reports whether every step depends only on earlier steps of the list. Only then can neighbours be joined without a cycle.
func (d *draft) inOrder() bool {
	before := make(map[string]bool, len(d.steps))
	all := make(map[string]bool, len(d.steps))
	for i := range d.steps {
		all[d.steps[i].ID] = true
	}
	for i := range d.steps {
		for _, id := range d.steps[i].Dependencies {
			if all[id] && !before[id] {
				return false
			}
		}
		before[d.steps[i].ID] = true
	}
	return true
}

// joint returns the position of the first of the two neighbours to join next: the shortest pair, the first if several are equal. It
// returns -1 if no neighbours can be joined.
func (d *draft) joint() int {
	read := map[string]bool{}
	for i := range d.steps {
		if d.steps[i].When != "" { // Conditions read direct predecessors.
			for _, id := range d.steps[i].Dependencies {
				read[id] = true
			}
		}
	}
	best, least := -1, 0
	for i := range len(d.steps) - 1 {
		a, b := &d.steps[i], &d.steps[i+1]
		if read[a.ID] || read[b.ID] || !a.joins(b) {
			continue
		}
		if size := len(a.Goal) + len(a.Context) + len(b.Goal) + len(b.Context); best < 0 || size < least {
			best, least = i, size
		}
	}
	return best
}

// joins reports whether one run can do both steps: they have the same expert under the same rules, and no result, form, condition
// or schedule.
func (s *step) joins(o *step) bool {
	plain := func(s *step) bool {
		return !s.Done() && s.When == "" && s.Schedule == nil && len(s.OutputSchema) == 0
	}
	return plain(s) && plain(o) && s.Expert == o.Expert && s.Type == o.Type && s.Language == o.Language &&
		same(s.Retries, o.Retries) && same(s.Timeout, o.Timeout) && same(s.LifeCycle, o.LifeCycle) &&
		len(s.Goal)+len(o.Goal)+len(s.Context)+len(o.Context)+2 <= MaxText
}

// same reports whether two optional values are equal.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// join combines a step with the next one under the id of the first.
func (d *draft) join(at int) {
	a, b := &d.steps[at], d.steps[at+1]
	a.Title, a.Goal, a.Context = both(a.Title, b.Title, "; "), both(a.Goal, b.Goal, "\n\n"), both(a.Context, b.Context, "\n\n")
	a.CompletionCriteria, a.Thinking = both(a.CompletionCriteria, b.CompletionCriteria, "\n"), both(a.Thinking, b.Thinking, "\n")
	a.Needs = union(a.Needs, b.Needs, "")
	a.Dependencies = union(a.Dependencies, b.Dependencies, a.ID)
	d.steps = slices.Delete(d.steps, at+1, at+2)
	for i := at + 1; i < len(d.steps); i++ {
		s := &d.steps[i]
		if n := slices.Index(s.Dependencies, b.ID); n >= 0 {
			s.Dependencies = slices.Clone(s.Dependencies)
			s.Dependencies[n] = d.steps[at].ID
			s.Dependencies = union(s.Dependencies, nil, "")
		}
	}
}

// both joins two texts, leaving out one that is empty or the same.
func both(a, b, between string) string {
	if strings.TrimSpace(b) == "" || a == b {
		return a
	}
	if strings.TrimSpace(a) == "" {
		return b
	}
	return a + between + b
}

// union lists the values of both lists, each once, apart from the value without. An empty list is nil.
func union[T cmp.Ordered](a, b []T, without T) []T {
	var all []T
	for _, word := range slices.Concat(a, b) {
		if word != without && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
