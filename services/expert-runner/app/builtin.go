package app

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// builtinFiles are the cards of the built-in experts.
//
//go:embed builtin/*.md
var builtinFiles embed.FS

// BuiltinExperts stands for all built-in experts, in place of a card file.
const BuiltinExperts = "builtin"

// builtinCards returns the built-in experts, sorted by id.
func builtinCards() []cardFile {
	entries, _ := builtinFiles.ReadDir("builtin") // The folder is embedded.
	var cards []cardFile
	for _, entry := range entries {
		b := &book{}
		b.parseCard("the built-in card "+strings.TrimSuffix(entry.Name(), ".md"), builtinText(entry.Name()), nil)
		cards = append(cards, b.cards...)
	}
	slices.SortFunc(cards, func(a, b cardFile) int { return strings.Compare(a.card.ID, b.card.ID) })
	return cards
}

func builtinText(name string) string {
	text, _ := builtinFiles.ReadFile(path.Join("builtin", name)) // The file was listed.
	return string(text)
}

// assistantID is the built-in expert without tools, for which a model needs no trust.
const assistantID = "assistant"

// addBuiltin adds the built-in experts, except those whose id or name a card has.
func (b *book) addBuiltin() {
	given := b.cards
	for _, f := range builtinCards() {
		if !slices.ContainsFunc(given, func(g cardFile) bool { return g.card.ID == f.card.ID || strings.EqualFold(g.card.Name, f.card.Name) }) {
			b.cards = append(b.cards, f)
		}
	}
}

// standIn adds built-in experts if there is a model and no other expert: all of them if the settings say so, otherwise only the
// assistant, which has no tools. They are removed when a card is added.
func (b *book) standIn(m *models, functions []Function, s *Settings) {
	switch {
	case len(b.cards)+len(functions)+len(b.faults) != 0 || m.standard == "":
	default:
		for _, f := range builtinCards() {
			if s.Builtin || f.card.ID == assistantID {
				f.Tags = append(f.Tags, events.BuiltinTag) // Plans prefer any other expert.
				f.card.Tags = f.Tags
				b.cards = append(b.cards, f)
			}
		}
	}
}

// Builtin are the cards of the built-in experts.
func Builtin() (cards []events.Card) {
	for _, f := range builtinCards() {
		cards = append(cards, f.card)
	}
	return cards
}

// BuiltinFile returns the card file of a built-in expert by its id or name, and the name of the file.
func BuiltinFile(name string) (file, text string, err error) {
	var ids []string
	for _, f := range builtinCards() {
		if strings.EqualFold(f.card.ID, name) || strings.EqualFold(f.card.Name, name) {
			return f.card.ID + ".md", builtinText(f.card.ID + ".md"), nil
		}
		ids = append(ids, f.card.ID)
	}
	hint := "the built-in experts are " + strings.Join(ids, ", ")
	if near := host.Near(name, ids); len(near) > 0 {
		hint = "did you mean " + near[0] + "? " + hint
	}
	return "", "", &events.Fault{Code: events.CodeNotFound, Field: "expert", Message: fmt.Sprintf("there is no built-in expert %.80q", name), Hint: hint}
}

// StandIns are the built-in cards that a runner with these settings offers, if it has a model and no card.
func StandIns(config string, s *Settings, env host.Env) (cards []events.Card) {
	read := readBook(config, s.Experts, env)
	had := len(read.cards)
	read.standIn(newModels(&read.config, s), nil, s)
	for _, f := range read.cards[had:] {
		cards = append(cards, f.card)
	}
	return cards
}
