package cli

import (
	"slices"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// catalogue returns the experts of a stack.
func (g runs) catalogue(k *stack.Stack) ([]events.Card, error) {
	c, err := client.Connect(g.app.soft, k.Options())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Experts().List(g.app.soft)
}

// attempts returns what can be tried on a bus with these experts: a goal if there is a model to plan it, which experts of kind llm
// show, else a goal for one of them.
func attempts(address string, cards []events.Card) string {
	command := "  jobgraph "
	if address != host.DefaultURL {
		command += "-s " + address + " "
	}
	cards = slices.DeleteFunc(slices.Clone(cards), func(c events.Card) bool { return c.Disabled || c.Hidden })
	switch {
	case slices.ContainsFunc(cards, func(c events.Card) bool { return c.Kind == "llm" }):
		return "try\n" + command + "run 'Plan a birthday party'\n" + command + "list\n"
	case len(cards) > 0:
		return "try\n" + command + "run --expert " + word(cards[0].Name) + " 'Say what is to be done'\n" + command + "list\n"
	}
	return "there is no expert yet: end this, and start it with --model fake, with the key of a model (OPENAI_API_KEY …) or with --experts FILE\n"
}
