package app

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/function"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/person"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/reconcile"
)

// catalog is everything that this runner offers.
type catalog struct {
	experts map[string]*expert.Expert
	// read are the cards that experts were made from, by id.
	read map[string]*cardFile
	// made are the experts that this catalog did not take over.
	made []*expert.Expert
	// hooks are those that are asked on the bus.
	hooks []*reconcile.Subject
	// pushed takes the notifications of remote agents, for every catalog of a process.
	pushed *a2a.Receiver
	models *models
	faults host.Faults
	// unbuilt says that programs need not be there; absent are those that are not.
	unbuilt bool
	absent  host.Faults
}

// newCatalog makes the runners of cards, and takes over from the catalog before, if any, what is still the same. All faults are
// reported together. Models without an engine mean that cards are only looked at.
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

// keeps reports whether a card means an expert that there is already, with the same model and tools.
func (c *catalog) keeps(f *cardFile, m *models) bool {
	was := c.read[f.card.ID]
	if was == nil || !was.same(f) {
		return false
	}
	if f.Kind != kindLLM {
		return true
	}
	if !reflect.DeepEqual(c.models.tools, m.tools) {
		return false
	}
	for _, ask := range f.Agent.models() {
		old, _, _ := c.models.choose(ask.name) // It was good when the expert was made.
		if now, _, err := m.choose(ask.name); err != nil || old != now {
			return false
		}
	}
	return true
}

func (c *catalog) addFile(s *Settings, f *cardFile) {
	x := &expert.Expert{Card: f.card}
	if f.Kind == kindLLM {
		if x = c.addAgent(s, f, c.models); x == nil {
			return
		}
	}
	if f.Kind == kindA2A {
		if x = c.addRemote(s, f); x == nil {
			return
		}
	}
	if f.Kind == kindCommand {
		if field, err := program(s, f, x); err != nil && !c.excuse(f, field, err) {
			c.faults = append(c.faults, f.fault(events.CodeInvalid, field, err.Error(), ""))
			return
		}
	}
	if err := c.addHook(s, f, x); err != nil && !c.excuse(f, "reconcile", err) {
		c.faults = append(c.faults, f.fault(events.CodeInvalid, "reconcile", err.Error(), ""))
		return
	}
	if field, err := reach(s, f, x); err != nil {
		c.faults = append(c.faults, f.fault(events.CodeInvalid, field, err.Error(), ""))
		return
	}
	x.Calls = slices.Contains(callKinds, f.Kind)
	c.made = append(c.made, x)
	c.add(x, f)
}

// excuse notes a program that is not there; any other error is none to excuse.
func (c *catalog) excuse(f *cardFile, field string, err error) bool {
	var absent command.AbsentError
	if !c.unbuilt || !errors.As(err, &absent) {
		return false
	}
	c.absent = append(c.absent, f.fault(events.CodeInvalid, field, err.Error(), ""))
	return true
}

// program makes the runner of an expert that is a program; field is the key at fault.
func program(s *Settings, f *cardFile, x *expert.Expert) (field string, err error) {
	box, policy, err := s.box(f)
	if err != nil {
		return "sandbox", err
	}
	x.Card.Tags = boxed(x.Card.Tags, box)
	x.Runner, err = command.New(command.Config{
		Argv: f.Command, Dir: filepath.Dir(f.path), Env: f.Env, Path: s.CommandPath, Stdout: f.StdoutLimit, Grace: s.KillGrace,
		Workspaces: s.WorkDir, KeepFailed: s.KeepFailed, Artifacts: f.artifacts(), Box: box, Policy: policy,
		Secrets: s.secrets, Keeper: s.keeper,
	})
	// A command is repeated after a crash unless its card says that it must not be: it gets an idempotency key.
	x.Intent = run.Effect{Key: run.Command, Name: run.Command, Safe: f.Idempotent == nil || *f.Idempotent}
	return "command", err
}

// reach makes the runner of an expert that is a service or a person; field is the key at fault.
func reach(s *Settings, f *cardFile, x *expert.Expert) (field string, err error) {
	switch f.Kind {
	case kindHTTP:
		call := f.HTTP
		call.Safe, call.Secrets = f.Idempotent != nil && *f.Idempotent, s.secrets
		runner, err := web.New(call)
		if err != nil {
			return "url", err
		}
		x.Runner = runner
	case kindHuman:
		asked := f.Human
		asked.Form, asked.Intro = f.card.OutputSchema, f.body
		runner, err := person.New(asked)
		if err != nil {
			return "output_schema", err
		}
		x.Runner, x.Light = runner, true
	}
	return "", nil
}

// addFunction takes a function. They stay the same for the life of the process.
func (c *catalog) addFunction(f Function, before *catalog) {
	card := f.Card
	card.Kind = kindFunc
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

// close lets go of what experts hold.
func (c *catalog) close() { shut(c.made) }

// shut closes what unused experts hold open.
func shut(list []*expert.Expert) {
	for _, x := range list {
		if x.Close != nil {
			x.Close()
		}
	}
}

// ids are those of all experts, sorted.
func (c *catalog) ids() []string {
	ids := make([]string, 0, len(c.experts))
	for id := range c.experts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// cards are those of all experts, sorted by id.
func (c *catalog) cards() []events.Card {
	var cards []events.Card
	for _, id := range c.ids() {
		cards = append(cards, c.experts[id].Card)
	}
	return cards
}

// pools are those to take work from: the ones asked for and those of experts that run here. Foreign workers have theirs to
// themselves.
func (c *catalog) pools(asked []string) []string {
	pools := slices.Clone(asked)
	for _, x := range c.experts {
		if x.Runner != nil {
			pools = append(pools, x.Card.Pool)
		}
	}
	slices.Sort(pools)
	return slices.Compact(pools)
}

// light is true for a pool in which nothing is expensive to hold.
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

// foreign are the pools of experts that run elsewhere.
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
