package app

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/function"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/reconcile"
)

// catalog holds the experts that this runner offers, and what they were built from.
type catalog struct {
	experts map[string]*expert.Expert
	// read are the cards that experts were built from, by id.
	read map[string]*cardFile
	// made are the experts that this catalog built itself.
	made []*expert.Expert
	// hooks are the reconcile hooks on the bus.
	hooks []*reconcile.Subject
	// pushed receives the notifications of remote agents, for all catalogs of a process.
	pushed *a2a.Receiver
	models *models
	faults host.Faults
	// unbuilt says that programs need not exist; absent are those that do not.
	unbuilt bool
	absent  host.Faults
}

// newCatalog builds the experts of cards, and takes over unchanged ones from the previous catalog, if any. It reports all faults
// together. Models without an engine mean that cards are only checked.
func newCatalog(s *Settings, b *book, functions []Function, m *models, before *catalog) (*catalog, error) {
	c := &catalog{experts: map[string]*expert.Expert{}, read: map[string]*cardFile{}, models: m, faults: slices.Clone(b.faults), unbuilt: b.unbuilt}
	if c.pushed = a2a.NewReceiver(); before != nil {
		c.pushed = before.pushed
	}
	for i := range b.cards {
		f := &b.cards[i]
		if before != nil && before.keeps(f, m) {
			c.add(before.experts[f.card.ID], f)
			continue
		}
		c.addFile(s, f)
	}
	for _, f := range functions {
		c.addFunction(f, before)
	}
	c.agrees()
	if len(c.faults) > 0 {
		shut(c.made)
		slices.SortStableFunc(c.faults, inOrder)
		return nil, c.faults
	}
	return c, nil
}

// inOrder compares faults by their places.
func inOrder(a, b host.Fault) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// keeps reports whether a card, its model and its tools are those that the present expert was built from.
func (c *catalog) keeps(f *cardFile, m *models) bool {
	was := c.read[f.card.ID]
	if was == nil || !was.same(f) {
		return false
	}
	needs, particular := f.kind().(interface {
		keeps(before, now *models) bool
	})
	return !particular || needs.keeps(c.models, m)
}

// addFile adds the expert of a card.
func (c *catalog) addFile(s *Settings, f *cardFile) {
	k := f.kind()
	x, faults := k.build(c, s, f)
	if x != nil {
		x.Calls, x.History = k.about().calls, f.History
		if f.History == nil && k.about().remembers {
			x.History = new(int)
		}
		c.made = append(c.made, x)
	}
	if err := c.addHook(s, f, x); err != nil && !c.excuse(f, "reconcile", err) {
		faults = append(faults, invalid("reconcile", err)...)
	}
	if len(faults) > 0 {
		for _, fault := range faults {
			c.faults = append(c.faults, f.fault(fault.Code, fault.Field, fault.Message, fault.Hint))
		}
		return
	}
	c.add(x, f)
}

// excuse reports whether an error can be ignored, because only a program is missing and programs need not exist. It records that
// program.
func (c *catalog) excuse(f *cardFile, field string, err error) bool {
	var absent command.AbsentError
	if !c.unbuilt || !errors.As(err, &absent) {
		return false
	}
	c.absent = append(c.absent, f.fault(events.CodeInvalid, field, err.Error(), ""))
	return true
}

// addFunction adds a Go function. Functions stay the same for the life of the process.
func (c *catalog) addFunction(f Function, before *catalog) {
	card := f.Card
	card.Kind = "func"
	named(&card)
	x := &expert.Expert{Card: card, Runner: function.Func(f.Run), Light: true}
	if f.Reconcile != nil {
		x.Reconciler = reconciler(f.Reconcile)
	}
	if before != nil && before.experts[card.ID] != nil {
		x = before.experts[card.ID]
	}
	c.add(x, &cardFile{path: "function " + card.Name})
}

func (c *catalog) add(x *expert.Expert, f *cardFile) {
	id := x.Card.ID
	switch other := c.experts[id]; {
	case !events.ValidID(id):
		c.faults = append(c.faults, f.fault(events.CodeInvalid, "id", fmt.Sprintf("%q is no id", id), "give the expert an id of 1 to 64 of A-Z a-z 0-9 _ -"))
	case other != nil:
		message := fmt.Sprintf("%q and %q have the same id %q", other.Card.Name, x.Card.Name, id)
		c.faults = append(c.faults, f.fault(events.CodeDuplicateID, "id", message, "give one of them an id of its own; the other is in "+c.read[id].path))
	default:
		c.experts[id], c.read[id] = x, f
	}
}

// close releases the resources of experts.
func (c *catalog) close() { shut(c.made) }

// shut releases the resources of unused experts.
func shut(list []*expert.Expert) {
	for _, x := range list {
		if x.Close != nil {
			x.Close()
		}
	}
}

// ids returns the ids of all experts, sorted.
func (c *catalog) ids() []string {
	ids := make([]string, 0, len(c.experts))
	for id := range c.experts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// cards returns the cards of all experts, sorted by id.
func (c *catalog) cards() []events.Card {
	var cards []events.Card
	for _, id := range c.ids() {
		cards = append(cards, c.experts[id].Card)
	}
	return cards
}

// pools returns the pools to serve: the requested ones and those of experts that run here. Pools of kind nats are served by their
// own workers.
func (c *catalog) pools(asked []string) []string {
	var experts []*expert.Expert
	for _, id := range c.ids() {
		experts = append(experts, c.experts[id])
	}
	return poolsOf(experts, asked)
}

func poolsOf(experts []*expert.Expert, asked []string) []string {
	pools := slices.Clone(asked)
	for _, x := range experts {
		if x.Runner != nil {
			pools = append(pools, x.Card.Pool)
		}
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// light is true for a pool whose work holds no expensive resources.
func (c *catalog) light(pool string) bool {
	found := false
	for _, x := range c.experts {
		if x.Runner != nil && x.Card.Pool == pool {
			if !x.Light {
				return false
			}
			found = true
		}
	}
	return found
}

// foreign returns the pools of experts that run elsewhere.
func (c *catalog) foreign() []string {
	var pools []string
	for _, x := range c.experts {
		if x.Runner == nil {
			pools = append(pools, x.Card.Pool)
		}
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}
