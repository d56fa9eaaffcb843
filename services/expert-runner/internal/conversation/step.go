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

// Step is one part of an expert's workflow: a conversation of its own.
type Step struct {
	// ID names the step.
	ID string
	// Instruction says what is done in it.
	Instruction string
	// After are the steps whose results it gets; nil is the one before it in the list, an empty list none.
	After []string
}

// Given is what a step has given.
type Given struct {
	ID     string
	Output json.RawMessage
}

// Order is the order in which the steps of a workflow are taken, as indexes: each behind those it comes after, otherwise as they
// are listed. The last one gives the result. Faults have fields below "workflow".
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

// Preceding are the ids of the steps that one comes after.
func Preceding(steps []Step, i int) []string {
	if steps[i].After == nil && i > 0 {
		return []string{steps[i-1].ID}
	}
	return steps[i].After
}

func stepAt(steps []Step, id string) int {
	return slices.IndexFunc(steps, func(s Step) bool { return s.ID == id })
}

// stepFaults are the faults of steps one by one.
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

// loose says which steps, beside the last, have no successor: what they give would not be read.
func loose(steps []Step, order []int) (faults events.Faults) {
	for _, i := range order[:max(0, len(order)-1)] {
		if !slices.ContainsFunc(order, func(j int) bool { return slices.Contains(Preceding(steps, j), steps[i].ID) }) {
			faults = append(faults, stepFault(i, "id", fmt.Sprintf("nothing comes after step %q, and it is not the last", steps[i].ID), "name it under after of the step that needs its result"))
		}
	}
	return faults
}

// stuck is the first step that is never taken, waiting are all of them.
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
