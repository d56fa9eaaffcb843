package app

import (
	"maps"
	"path/filepath"
	"reflect"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// CheckCards reads configuration files (*.yaml) with the experts they name, card files and folders, and finds their programs. It
// returns the cards, and all faults together as host.Faults. If no configuration has models, a card may name any; the same holds
// for tools of servers.
func CheckCards(paths []string, env host.Env) ([]events.Card, error) {
	cards, _, err := look(paths, env, false)
	return cards, err
}

// ReadCards is CheckCards for callers that only need the cards: missing programs are warnings. The error is host.Faults.
func ReadCards(paths []string, env host.Env) (cards []events.Card, warnings host.Faults, err error) {
	return look(paths, env, true)
}

func look(paths []string, env host.Env, unbuilt bool) ([]events.Card, host.Faults, error) {
	all := &book{config: Config{Models: llm.Config{}}, unbuilt: unbuilt}
	var cards []string
	for _, path := range paths {
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
			cards = append(cards, path)
			continue
		}
		all.join(readBook(path, nil, env))
	}
	all.join(readBook("", cards, env))
	s := Default()
	s.Model, _ = env("OPENAI_MODEL")
	models := newModels(&all.config, &s)
	models.boxes = newToolboxes(&models.tools, "", &s, nil)
	c, err := newCatalog(&s, all, nil, models, nil)
	if err != nil {
		return nil, nil, err
	}
	c.close()
	return c.cards(), c.absent, nil
}

// join adds the contents of another book.
func (b *book) join(other *book) {
	maps.Copy(b.config.Models, other.config.Models)
	if !reflect.ValueOf(other.config.ToolConfig).IsZero() {
		b.config.ToolConfig = other.config.ToolConfig
	}
	b.cards = append(b.cards, other.cards...)
	b.faults = append(b.faults, other.faults...)
}
