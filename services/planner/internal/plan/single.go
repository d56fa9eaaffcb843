package plan

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// SingleID is the id of the only SubJob of a job that names its expert.
const SingleID = "main"

// Single makes the plan of a job that names its expert and needs no planning: one SubJob with the whole goal. It may name
// hidden and passthrough experts. version is Options.Version.
func Single(r *events.Request, cards []events.Card, version int) Result {
	d := &draft{dialect: Native, version: version}
	if version >= 1 {
		d.retries = r.Limits.Retries
	}
	c := newCatalog(cards)
	d.plan = events.Plan{Locale: r.Locale, OrigQuery: r.Goal}
	d.steps = []step{{path: "", expertField: "expert", goalField: "goal"}}
	s := &d.steps[0]
	s.SubJob = events.SubJob{ID: SingleID, Goal: r.Goal, Context: r.Context, Language: r.Locale}
	card, fault := c.resolve(r.Expert, true)
	if fault != nil {
		d.refuseExpert(s, fault)
	} else {
		d.employ(s, card)
		if card.Passthrough {
			s.Title = "Run " + strings.TrimSpace(card.Name)
		}
	}
	d.judgeTexts(s)
	result := Result{Dialect: Native, Faults: d.faults.all(), Warnings: d.warnings.all()}
	if len(result.Faults) == 0 {
		result.Plan = d.finish()
	}
	return result
}

// StandIn returns the expert that writes if a model cannot: the default one, by name or by tag, or nil.
func StandIn(cards []events.Card, byDefault string) *events.Card {
	c := newCatalog(cards)
	if byDefault != "" {
		card, _ := c.resolve(byDefault, true) // A configured expert that does not exist is ignored.
		return card
	}
	for _, i := range c.byTag[defaultTag] {
		if c.usable(i) {
			return &c.cards[i]
		}
	}
	return nil
}

// Finaliser looks up the expert of "finalize": "expert:<id>". The id must match exactly, since it was fixed when the job
// was admitted. It returns nil without a fault if no expert finalises.
func Finaliser(finalize string, cards []events.Card) (*events.Card, *events.Fault) {
	name, ok := strings.CutPrefix(finalize, "expert:")
	if !ok {
		return nil, nil
	}
	card, fault := newCatalog(cards).resolve(name, true)
	if fault == nil && card.ID != name {
		fault = &events.Fault{Code: events.CodeInvalid, Message: "finalize wants the id of an expert, not its name", Hint: "use expert:" + card.ID}
	}
	if fault != nil {
		fault.Field = "finalize"
		return nil, fault
	}
	return card, nil
}
