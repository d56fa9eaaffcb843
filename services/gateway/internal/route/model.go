package route

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// The kinds of models, which also prefix an id that both a profile and an expert have.
const (
	kindProfile = "profile"
	kindExpert  = "expert"
)

// catalogue has the models of OpenAI's API: profiles and experts.
type catalogue struct {
	lines []verb.ModelLine
	names map[string]string // The ids of experts by name, in lower case.
	// absent says why the profiles are unknown, nil if they are known.
	absent error
}

// models reads profiles and experts. Without a planner only the profiles are missing.
func (c *call) models() (*catalogue, error) {
	m := &catalogue{names: map[string]string{}}
	taken := map[string]bool{}
	add := func(id, about, kind string) {
		taken[id] = true
		m.lines = append(m.lines, verb.ModelLine{ID: id, Object: "model", OwnedBy: "jobgraph", Description: about, Kind: kind})
	}
	var list verb.ProfileList
	body, err := c.ask("profiles", struct{}{})
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	m.absent = err
	for _, standard := range []bool{true, false} { // Many clients choose the first model.
		for _, p := range list.Profiles {
			if p.Default == standard {
				add(p.Name, p.About, kindProfile)
			}
		}
	}
	cards, err := c.gateway.Client.Experts().List(c.r.Context())
	if err != nil {
		return nil, err
	}
	for i := range cards {
		card := &cards[i]
		if card.Hidden || card.Disabled {
			continue
		}
		id := card.ID
		if taken[id] {
			id = kindExpert + ":" + id
		}
		add(id, card.Description, kindExpert)
		m.names[strings.ToLower(card.Name)] = id
	}
	return m, nil
}

// find returns a model by its id, or by the name of its expert. Errors: a fault for one that does not exist, and the reason if
// profiles are unknown.
func (m *catalogue) find(id string) (*verb.ModelLine, error) {
	for _, name := range []string{id, m.names[strings.ToLower(id)]} {
		for at := range m.lines {
			if line := &m.lines[at]; line.ID == name || line.Kind+":"+line.ID == name {
				return line, nil
			}
		}
	}
	if m.absent != nil {
		return nil, m.absent
	}
	return nil, &events.Fault{Code: events.CodeNotFound, Field: "model", Message: "there is no model " + clip(id), Hint: "GET /v1/models lists profiles and experts"}
}

// listModels lists profiles and experts as models.
func listModels(c *call) error {
	m, err := c.models()
	if err != nil {
		return err
	}
	if len(m.lines) == 0 && m.absent != nil {
		return m.absent
	}
	return c.reply(verb.ModelList{Object: "list", Data: m.lines})
}

// showModel shows one model.
func showModel(c *call) error {
	m, err := c.models()
	if err != nil {
		return err
	}
	line, err := m.find(c.text("model"))
	if err != nil {
		return err
	}
	return c.reply(line)
}
