package app

import (
	"time"
	_ "time/tzdata" // Images without a file system still know every time zone.

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// Check decodes a plan in any dialect and checks it against the cards: the plan in native form when it is valid, else every
// fault there is. Warnings say what was read leniently. maxSteps bounds the plan, 0 does not. A plan without steps that has
// an answer for the person instead is rejected here with that answer, since there is nothing to run.
func Check(raw []byte, cards []events.Card, maxSteps int) (p *events.Plan, faults, warnings events.Faults) {
	return check(raw, cards, plan.Options{MaxSteps: maxSteps})
}

// CheckEdit is Check for the new graph of a job that runs. known are the ids the job has already: they are kept in whatever
// form they are. done are those with a result, which steps may depend on without their being in the plan.
func CheckEdit(raw []byte, cards []events.Card, maxSteps int, known, done []string) (p *events.Plan, faults, warnings events.Faults) {
	return check(raw, cards, plan.Options{MaxSteps: maxSteps, Known: known, Done: done})
}

func check(raw []byte, cards []events.Card, o plan.Options) (p *events.Plan, faults, warnings events.Faults) {
	o.Zone, o.Schema, o.Informed = zone, schema.Check, true
	r := plan.Check(raw, cards, o)
	if r.Answer != "" {
		r.Faults = append(r.Faults, events.Fault{
			Code: events.CodeRejected, Message: "the plan has no steps, only an answer: " + r.Answer, Hint: "submit it to get the answer as the job's result",
		})
	}
	return r.Plan, r.Faults, r.Warnings
}

// Dialects lists the names of the forms that a plan can be written in, the native one first.
func Dialects() []string {
	list := plan.Dialects()
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = string(d)
	}
	return names
}

// Template is a plan to start from, in a dialect; ok is false when the name is none of Dialects.
func Template(dialect string) (text string, ok bool) { return plan.Template(plan.Dialect(dialect)) }

// zone reports whether a time zone exists. "Local" does not: it would mean another one on each machine.
func zone(name string) bool {
	if name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Remark is a doubt about a valid plan, of one of the kinds sensible, executable, language, step_type.
type Remark = plan.Remark

// Quality looks at a valid plan as a careful reader would.
func Quality(p *events.Plan) []Remark { return plan.Quality(p) }
