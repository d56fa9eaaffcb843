package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// place sets the dependencies of the last step of a list: those that it names, else the step before it.
func (d *draft) place(r *reader) {
	n := len(d.steps) - 1
	if needs, given := r.needed(); given {
		d.steps[n].Dependencies = needs
		return
	}
	if n < 1 {
		return
	}
	least := n - 1
	if d.informed {
		least = max(0, n-mostEarlier)
	}
	for _, s := range d.steps[least:n] {
		d.steps[n].Dependencies = append(d.steps[n].Dependencies, s.ID)
	}
}

// needed reads the dependencies that a step of a list names; given is false if it names none. An empty list counts as given: the
// step depends on no other. Steps are named by their number, counted from 1, or by their id, "step_2".
func (r *reader) needed() (ids []string, given bool) {
	if r.draft.version < 1 {
		return nil, false
	}
	raw, given := r.value(dependencies)
	if !given {
		return nil, false
	}
	if c := kindOf(raw); c != '[' { // A model that has only one dependency may leave out the brackets.
		word, ok := scalar(raw)
		if !ok {
			r.wrong(dependencies, raw, "a list of step numbers")
			return nil, true
		}
		return []string{r.numbered(word)}, true
	}
	for _, word := range r.words(dependencies) {
		ids = append(ids, r.numbered(word))
	}
	return ids, true
}

const dependencies = "dependencies"

// numbered returns the id of the step with a number; any other name unchanged.
func (r *reader) numbered(word string) string {
	word = strings.TrimSpace(word)
	n, err := strconv.Atoi(word)
	if err != nil {
		return word
	}
	prefix := "step"
	if r.draft.dialect == ValueCell {
		prefix = "task"
	}
	return fmt.Sprintf("%s_%d", prefix, n)
}
