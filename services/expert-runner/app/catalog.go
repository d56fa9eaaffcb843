package app

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/function"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/person"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// catalog is everything that this runner offers.
type catalog struct {
	experts map[string]*expert.Expert
	faults  host.Faults
	// closers let go of what experts hold, once no run is left.
	closers []func()
}

// newCatalog reads the cards and makes their runners. All faults are reported together. Without models cards are only looked
// at.
func newCatalog(s *Settings, env host.Env, functions []Function, models *models) (*catalog, error) {
	c := &catalog{experts: map[string]*expert.Expert{}}
	files, err := readCards(s.Experts, env)
	if err != nil {
		c.faults = append(c.faults, asFaults("", err)...)
	}
	for i := range files {
		c.addFile(s, &files[i], models)
	}
	for _, f := range functions {
		c.addFunction(f)
	}
	if err := c.faults.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *catalog) addFile(s *Settings, f *cardFile, models *models) {
	x := &expert.Expert{Card: f.card}
	if f.Kind == kindLLM {
		if x = c.addAgent(s, f, models); x == nil {
			return
		}
	}
	if f.Kind == kindCommand {
		runner, err := command.New(command.Config{
			Argv: f.Command, Dir: filepath.Dir(f.path), Env: f.Env, Path: s.CommandPath, Stdout: f.StdoutLimit, Grace: s.KillGrace,
			Workspaces: s.WorkDir, KeepFailed: s.KeepFailed,
		})
		if err != nil {
			c.faults = append(c.faults, host.Fault{Code: events.CodeInvalid, File: f.path, Field: "command", Message: err.Error()})
			return
		}
		x.Runner = runner
		// A command is repeated after a crash unless its card says that it must not be: it gets an idempotency key.
		x.Intent = task.Intent{Name: task.Command, Safe: f.Idempotent == nil || *f.Idempotent}
	}
	if err := reach(f, x); err != nil {
		c.faults = append(c.faults, host.Fault{Code: events.CodeInvalid, File: f.path, Field: f.Kind, Message: err.Error()})
		return
	}
	c.add(x, f.path)
}

// reach makes the runner of an expert that is a service or a person.
func reach(f *cardFile, x *expert.Expert) error {
	switch f.Kind {
	case kindHTTP:
		call := f.HTTP
		call.Safe = f.Idempotent != nil && *f.Idempotent
		runner, err := web.New(call)
		if err != nil {
			return err
		}
		x.Runner = runner
	case kindHuman:
		asked := f.Human
		asked.Form, asked.Intro = f.card.OutputSchema, f.body
		runner, err := person.New(asked)
		if err != nil {
			return err
		}
		x.Runner, x.Light = runner, true
	}
	return nil
}

func (c *catalog) addFunction(f Function) {
	card := f.Card
	card.Kind = kindFunc
	named(&card)
	c.add(&expert.Expert{Card: card, Runner: function.Func(f.Run), Light: true}, "function "+card.Name)
}

func (c *catalog) add(x *expert.Expert, from string) {
	id := x.Card.ID
	switch other := c.experts[id]; {
	case !events.ValidID(id):
		c.faults = append(c.faults, host.Fault{Code: events.CodeInvalid, File: from, Field: "id", Message: fmt.Sprintf("%q is no id", id), Hint: "give the expert an id of 1 to 64 of A-Z a-z 0-9 _ -"})
	case other != nil:
		c.faults = append(c.faults, host.Fault{
			Code: events.CodeDuplicateID, File: from, Field: "id",
			Message: fmt.Sprintf("%q and %q have the same id %q", other.Card.Name, x.Card.Name, id), Hint: "give one of them an id of its own",
		})
	default:
		c.experts[id] = x
	}
}

// close lets go of what experts hold.
func (c *catalog) close() {
	for _, f := range c.closers {
		f()
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
