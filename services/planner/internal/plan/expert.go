package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/near"
)

// catalog finds cards by the names that plans use, ignoring case.
type catalog struct {
	cards  []events.Card
	hint   string
	byID   map[string][]int
	byName map[string][]int
	byTag  map[string][]int
	byForm map[string][]int // By id and name in their plain form.
}

// defaultTag marks the card that takes the steps without an expert.
const defaultTag = "default"

func newCatalog(cards []events.Card) *catalog {
	c := &catalog{cards: slices.Clone(cards), byID: map[string][]int{}, byName: map[string][]int{}, byTag: map[string][]int{}, byForm: map[string][]int{}}
	slices.SortStableFunc(c.cards, func(a, b events.Card) int { return cmp.Compare(a.ID, b.ID) })
	for i := range c.cards {
		card := &c.cards[i]
		file(c.byID, card.ID, i)
		file(c.byName, card.Name, i)
		file(c.byForm, near.Form(card.ID), i)
		file(c.byForm, near.Form(card.Name), i)
		for _, word := range slices.Concat(card.Tags, card.Skills) {
			file(c.byTag, word, i)
		}
	}
	c.hint = "no expert is registered: start a runner, and see `jobgraph experts list`"
	if list := c.plannable(); len(list) > 0 {
		c.hint = "the experts are " + some(c.namesOf(list), 20)
	}
	return c
}

func file(index map[string][]int, name string, i int) {
	if key := fold(name); key != "" && !slices.Contains(index[key], i) {
		index[key] = append(index[key], i)
	}
}

func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// find returns experts by id, else by name, else by the plain form of either. If several match, only the exact spelling decides.
func (c *catalog) find(name string) []int {
	for _, index := range []map[string][]int{c.byID, c.byName} {
		hits := index[fold(name)]
		for _, i := range hits {
			if len(hits) > 1 && (c.cards[i].ID == name || c.cards[i].Name == name) {
				return []int{i}
			}
		}
		if len(hits) > 0 {
			return hits
		}
	}
	return c.byForm[near.Form(name)]
}

// plannable lists the enabled cards that plans may use, sorted by id.
func (c *catalog) plannable() []int {
	var list []int
	for i := range c.cards {
		if c.usable(i) {
			list = append(list, i)
		}
	}
	return list
}

func (c *catalog) usable(i int) bool { return !c.cards[i].Hidden && !c.cards[i].Disabled }

// namesOf lists the names of experts, for a hint.
func (c *catalog) namesOf(list []int) []string {
	names := make([]string, len(list))
	for i, at := range list {
		names[i] = c.cards[at].ID
		if n := c.cards[at].Name; n != "" && n != names[i] {
			names[i] = fmt.Sprintf("%s (%s)", n, names[i])
		}
	}
	return names
}

// resolve returns the card of a name, or a fault. With hidden, hidden cards are allowed: requests outside of a plan may
// name them.
func (c *catalog) resolve(name string, hidden bool) (*events.Card, *events.Fault) {
	hits := c.find(name)
	switch {
	case len(hits) == 0:
		return nil, &events.Fault{Code: events.CodeUnknownExpert, Message: fmt.Sprintf("no expert is called %.80q", name), Hint: c.hint}
	case len(hits) > 1:
		return nil, &events.Fault{
			Code: events.CodeConflict, Message: fmt.Sprintf("%d experts are called %.80q", len(hits), name),
			Hint: "use an id: " + some(c.namesOf(hits), 8),
		}
	}
	card := &c.cards[hits[0]]
	if card.Disabled {
		return nil, &events.Fault{Code: events.CodeUnknownExpert, Message: fmt.Sprintf("expert %.80q is disabled", name), Hint: c.hint}
	}
	if card.Hidden && !hidden {
		return nil, &events.Fault{Code: events.CodeHiddenExpert, Message: fmt.Sprintf("expert %.80q is hidden from plans", name), Hint: c.hint}
	}
	return card, nil
}

// withAll returns the cards that have every capability.
func (c *catalog) withAll(list []int, needs []string) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return !has(&c.cards[i], needs) })
}

// has reports whether the skills and tags of a card include the capabilities.
func has(card *events.Card, needs []string) bool {
	for _, need := range needs {
		named := func(word string) bool { return fold(word) == fold(need) }
		if !slices.ContainsFunc(card.Skills, named) && !slices.ContainsFunc(card.Tags, named) {
			return false
		}
	}
	return true
}

// assign chooses the expert of a step: the one that it names, else by tag, by type, by needs, else the default.
func (d *draft) assign(s *step, c *catalog, byDefault string) {
	if strings.TrimSpace(s.Expert) != "" {
		card, fault := c.resolve(s.Expert, false)
		if fault == nil && d.rules != nil && card.Passthrough {
			fault = &events.Fault{Code: events.CodeHiddenExpert, Message: fmt.Sprintf("expert %.80q takes whole goals only", s.Expert), Hint: c.hint}
		}
		if fault != nil {
			d.refuseExpert(s, d.reserved(s.Expert, c, fault))
			return
		}
		d.employ(s, card)
		return
	}
	if i, ok := d.choose(s, c); ok {
		d.employ(s, &c.cards[i])
		return
	}
	card, fault := c.standard(byDefault)
	if fault != nil {
		d.refuseExpert(s, fault)
		return
	}
	if s.Tag != "" {
		d.warnings.add(events.CodeUnknownExpert, s.at("tag"), fmt.Sprintf("no expert has the tag %.80q; %s takes it", s.Tag, card.ID), "")
	}
	d.employ(s, card)
}

// reserved returns the fault for an expert that plans may not use, without its name, since a plan's author need not know that it
// exists.
func (d *draft) reserved(name string, c *catalog, fault *events.Fault) *events.Fault {
	if !d.discreet || fault.Code == events.CodeConflict || len(c.find(name)) == 0 {
		return fault
	}
	code := fault.Code
	if d.rules != nil {
		code = events.CodeHiddenExpert
	}
	return &events.Fault{Code: code, Message: "the expert named here is not available to plans", Hint: fault.Hint}
}

// refuseExpert records a fault, unless the step already has its result and needs no expert.
func (d *draft) refuseExpert(s *step, fault *events.Fault) {
	if s.Done() {
		return
	}
	fault.Field = s.at(s.expertField)
	d.faults.put(*fault)
}

// choose finds an expert by tag, type and needs; if several fit, the first by id.
func (d *draft) choose(s *step, c *catalog) (int, bool) {
	if s.Tag != "" {
		for _, hits := range [][]int{c.find(s.Tag), c.byTag[fold(s.Tag)]} {
			for _, i := range hits {
				if c.usable(i) {
					return i, true
				}
			}
		}
		return 0, false
	}
	able := c.withAll(c.plannable(), s.Needs)
	if s.Type != "" {
		if fit := c.withAll(able, []string{s.Type}); len(fit) > 0 {
			return fit[0], true
		}
	}
	if len(s.Needs) > 0 && len(able) > 0 {
		return able[0], true
	}
	if s.Type != "" && s.wish {
		if fit := c.withAll(c.plannable(), []string{s.Type}); len(fit) > 0 {
			return fit[0], true
		}
	}
	return 0, false
}

// standard returns the expert of steps that name none: the configured one, the card tagged "default", or the only card.
func (c *catalog) standard(name string) (*events.Card, *events.Fault) {
	if name != "" {
		return c.resolve(name, true)
	}
	for _, i := range c.byTag[defaultTag] {
		if c.usable(i) {
			return &c.cards[i], nil
		}
	}
	list := c.plannable()
	if len(list) == 1 {
		return &c.cards[list[0]], nil
	}
	return nil, &events.Fault{
		Code: events.CodeUnknownExpert, Message: "no expert is named for this step, and there is no default expert",
		Hint: "name an expert, tag one as default, or give the job an expert; " + c.hint,
	}
}

// employ copies the settings of the card into a step.
func (d *draft) employ(s *step, card *events.Card) {
	s.Expert, s.ExpertName, s.Pool, s.Pure = card.ID, card.Name, card.Pool, card.Pure
	if s.Pool == "" {
		s.Pool = events.DefaultPool
	}
	if s.Timeout == nil {
		s.Timeout = card.Timeout
	}
	if s.Retries == nil {
		s.Retries = card.Retries
	}
	if s.Retries != nil && d.retries != nil {
		s.Retries = new(min(*s.Retries, *d.retries))
	}
	if has(card, s.Needs) || s.Done() {
		return
	}
	note := &d.faults
	if s.wish {
		note = &d.warnings
	}
	note.add(events.CodeInvalid, s.at("needs"), fmt.Sprintf("expert %s lacks %s", card.ID, some(s.Needs, 8)),
		"choose an expert that has it, or give its card the skill")
}
