package app

import (
	"time"
	_ "time/tzdata" // Images without a file system need the time zones too.

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// Check decodes a plan in any dialect and checks it against the cards. It returns the plan in native form, or all faults.
// Warnings list what was repaired. maxSteps limits the steps; 0 sets no limit. A plan without steps that answers the person
// is rejected with that answer, since there is nothing to run.
func Check(raw []byte, cards []events.Card, maxSteps int) (p *events.Plan, faults, warnings events.Faults) {
	r := plan.Check(raw, cards, plan.Options{MaxSteps: maxSteps, Zone: zone, Schema: schema.Check, Informed: true, Version: plan.Version, Discreet: true})
	if r.Answer != "" {
		r.Faults = append(r.Faults, events.Fault{
			Code: events.CodeRejected, Message: "the plan has no steps, only an answer: " + r.Answer, Hint: "submit it to get the answer as the job's result",
		})
	}
	return r.Plan, r.Faults, r.Warnings
}

// Dialects lists the names of the dialects, the native one first.
func Dialects() []string {
	list := plan.Dialects()
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = string(d)
	}
	return names
}

// Template returns a sample plan in a dialect; ok is false if Dialects does not list it.
func Template(dialect string) (text string, ok bool) { return plan.Template(plan.Dialect(dialect)) }

// zone reports whether a time zone exists. It rejects "Local", which differs between machines.
func zone(name string) bool {
	if name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Remark is a doubt about a valid plan, of one of the kinds sensible, executable, language, step_type.
type Remark = plan.Remark

// Quality reviews a valid plan and returns what looks doubtful.
func Quality(p *events.Plan) []Remark { return plan.Quality(p) }
