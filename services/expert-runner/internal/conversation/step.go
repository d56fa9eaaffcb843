package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// MaxSteps is how many steps a workflow may have.
const MaxSteps = 64

// Step is one part of an expert's workflow: a separate conversation.
type Step struct {
	// ID names the step.
	ID string
	// Instruction says what to do in it.
	Instruction string
	// After are the steps whose results it gets; nil means the previous one in the list, an empty list none.
	After []string
}

// Given is the result of an earlier step, with the id of that step.
type Given struct {
	ID     string
	Output json.RawMessage
}

// Order returns the order in which the steps of a workflow are executed, as indexes: each after the steps that it depends on,
// otherwise as listed. The last one gives the result. Faults have fields below "workflow".
func Order(steps []Step) (order []int, faults events.Faults) {
	if faults = stepFaults(steps); len(faults) > 0 {
		return nil, faults
	}
	for len(order) < len(steps) {
		next := slices.IndexFunc(steps, func(s Step) bool { return ready(steps, order, s.ID) })
		if next < 0 {
			return nil, events.Faults{stepFault(stuck(steps, order), "after", "the steps wait for each other: "+strings.Join(waiting(steps, order), ", "), "one of them has to come first")}
		}
		order = append(order, next)
	}
	return order, loose(steps, order)
}

// ready reports whether a step is still to be taken, and all that it comes after are done.
func ready(steps []Step, done []int, id string) bool {
	i := stepAt(steps, id)
	return !slices.Contains(done, i) && !slices.ContainsFunc(Preceding(steps, i), func(before string) bool {
		return !slices.Contains(done, stepAt(steps, before))
	})
}

// Preceding returns the ids of the steps on which one depends.
func Preceding(steps []Step, i int) []string {
	if steps[i].After == nil && i > 0 {
		return []string{steps[i-1].ID}
	}
	return steps[i].After
}

func stepAt(steps []Step, id string) int {
	return slices.IndexFunc(steps, func(s Step) bool { return s.ID == id })
}

// stepFaults returns the faults of single steps.
func stepFaults(steps []Step) (faults events.Faults) {
	if len(steps) > MaxSteps {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "workflow", Message: fmt.Sprintf("has %d steps, at most %d are taken", len(steps), MaxSteps), Hint: "split the work into several experts"})
	}
	for i, s := range steps {
		switch {
		case !events.ValidID(s.ID):
			faults = append(faults, stepFault(i, "id", fmt.Sprintf("%q is no id", s.ID), "use 1 to 64 of A-Z a-z 0-9 _ -"))
		case stepAt(steps, s.ID) != i:
			faults = append(faults, stepFault(i, "id", fmt.Sprintf("two steps are called %q", s.ID), "give one of them another id"))
		}
		if strings.TrimSpace(s.Instruction) == "" {
			faults = append(faults, stepFault(i, "instruction", "a step without an instruction", "say what it does, or leave it out"))
		}
		for _, before := range s.After {
			if stepAt(steps, before) < 0 {
				faults = append(faults, stepFault(i, "after", fmt.Sprintf("there is no step %q", before), "name a step of this workflow by its id"))
			}
		}
	}
	return faults
}

// loose returns the steps, apart from the last, that no step depends on: their results would not be read.
func loose(steps []Step, order []int) (faults events.Faults) {
	for _, i := range order[:max(0, len(order)-1)] {
		if !slices.ContainsFunc(order, func(j int) bool { return slices.Contains(Preceding(steps, j), steps[i].ID) }) {
			faults = append(faults, stepFault(i, "id", fmt.Sprintf("nothing comes after step %q, and it is not the last", steps[i].ID), "name it under after of the step that needs its result"))
		}
	}
	return faults
}

// stuck returns the first step that is never executed; waiting are all of them.
func stuck(steps []Step, done []int) int { return stepAt(steps, waiting(steps, done)[0]) }

func waiting(steps []Step, done []int) (ids []string) {
	for i := range steps {
		if !slices.Contains(done, i) {
			ids = append(ids, steps[i].ID)
		}
	}
	return ids
}

func stepFault(i int, key, message, hint string) events.Fault {
	return events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("workflow[%d].%s", i, key), Message: message, Hint: hint}
}
