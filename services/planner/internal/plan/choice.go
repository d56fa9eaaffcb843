package plan

import (
	"slices"
	"strings"
	"unicode"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// Staffed reports whether any expert may be used in plans.
func Staffed(cards []events.Card) bool {
	return slices.ContainsFunc(cards, func(c events.Card) bool { return !c.Hidden && !c.Disabled })
}

// Able returns the id of the first expert, by id, that plans may use and whose skills or tags contain a capability; "" if
// there is none.
func Able(cards []events.Card, need string) string {
	if strings.TrimSpace(need) == "" {
		return ""
	}
	c := newCatalog(cards)
	for _, i := range c.withAll(c.plannable(), []string{need}) {
		if !c.cards[i].Passthrough {
			return c.cards[i].ID
		}
	}
	return ""
}

// Called returns the id of the expert with that id or name. If there is none, it returns the first, by id, whose id, name,
// skill or tag ends in the name, as "web_search" ends in "search". Case does not matter. Hidden experts are included,
// disabled ones are not. It returns "" if none matches.
func Called(cards []events.Card, name string) string {
	c := newCatalog(cards)
	if card, fault := c.resolve(name, true); fault == nil {
		return card.ID
	}
	end := fold(name)
	if end == "" {
		return ""
	}
	for i := range c.cards {
		card := &c.cards[i]
		ends := func(word string) bool { return strings.HasSuffix(fold(word), end) }
		if !card.Disabled && slices.ContainsFunc(slices.Concat([]string{card.ID, card.Name}, card.Skills, card.Tags), ends) {
			return card.ID
		}
	}
	return ""
}

// Best returns the id of the expert whose card shares the most words with the query. Ties go to the default expert, else to
// the first by id. It returns "" if there is no expert to choose from.
func Best(query string, cards []events.Card, byDefault string) string {
	c := newCatalog(cards)
	standard := ""
	if card, fault := c.standard(byDefault); fault == nil {
		standard = card.ID
	}
	terms := termsOf(query)
	best, most := standard, 0
	for _, i := range c.plannable() {
		card := &c.cards[i]
		if card.Passthrough {
			continue
		}
		score := scoreOf(card, terms)
		if score > most || best == "" {
			best, most = card.ID, score
		}
	}
	return best
}

func scoreOf(card *events.Card, terms []string) int {
	words := termsOf(strings.Join(slices.Concat([]string{card.Name, card.Description}, card.Skills, card.Tags, card.Examples), "\n"))
	known := set(words)
	score := 0
	for _, term := range terms {
		if known[term] {
			score++
		}
	}
	return score
}

// termsOf splits a text into lower-case words of three letters or more, without a plural s, and pairs of Han characters,
// each once.
func termsOf(text string) []string {
	var terms []string
	seen := map[string]bool{}
	add := func(term string) {
		if !seen[term] {
			seen[term] = true
			terms = append(terms, term)
		}
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(word)
		if !unicode.Is(unicode.Han, runes[0]) {
			if len(runes) > 2 {
				add(strings.TrimSuffix(word, "s"))
			}
			continue
		}
		for i := 0; i+1 < len(runes); i++ {
			add(string(runes[i : i+2]))
		}
	}
	return terms
}

// maxHeading is how much of the request goes into the title of its default plan, in characters.
const maxHeading = 50

// ThreeSteps returns a plan that fits any request: analyse, execute, verify. It is in the form of OpenManus, so that any
// expert may take its steps.
func ThreeSteps(query, locale string) any {
	head, steps := "Plan for: ", []string{"Analyze request", "Execute task", "Verify results"}
	if Chinese(locale) {
		head, steps = "计划：", []string{"分析请求", "执行任务", "核实结果"}
	}
	heading := []rune(strings.TrimSpace(query))
	title := head + string(heading)
	if len(heading) > maxHeading {
		title = head + string(heading[:maxHeading]) + "…"
	}
	type three struct {
		Title     string   `json:"title"`
		Locale    string   `json:"locale,omitempty"`
		OrigQuery string   `json:"orig_query,omitempty"`
		Steps     []string `json:"steps"`
	}
	return three{Title: title, Locale: locale, OrigQuery: clip.Marked(query, MaxText-4), Steps: steps}
}
