package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// assistant is the built-in expert: a model without tools, for users who have a model and no card yet.
func assistant() cardFile {
	f := cardFile{
		cardSpec: cardSpec{
			ID: "assistant", Name: "Assistant", Kind: kindLLM, Tags: []string{events.BuiltinTag},
			Description: "Answers, writes, summarises and reasons with what the step says; it has no tools",
		},
		path: "the card that comes with the program",
		body: "You carry out one step of a larger job. Do what its goal asks for, with what you are given and what you know, and answer with the " +
			"result alone. You have no tools: where the step needs data or actions that you do not have, say which in place of inventing them.",
	}
	f.card, _ = f.cardSpec.card() // It fails on schemas alone.
	return f
}

// standIn adds the built-in assistant if there is a model and no other expert. It is removed when a card is added.
func (b *book) standIn(m *models, functions []Function) {
	if len(b.cards)+len(functions)+len(b.faults) == 0 && m.standard != "" {
		b.cards = append(b.cards, assistant())
	}
}

// Builtin are the cards of the built-in experts.
func Builtin() []events.Card { return []events.Card{assistant().card} }

// StandIns are the built-in cards that a runner with these settings offers: if it has a model and no card.
func StandIns(config string, s *Settings, env host.Env) []events.Card {
	read := readBook(config, s.Experts, env)
	had := len(read.cards)
	read.standIn(newModels(&read.config, s), nil)
	if len(read.cards) == had {
		return nil
	}
	return Builtin()
}
