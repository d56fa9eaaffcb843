package plan

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// defaultCast is the cast for profiles that have none of their own.
const defaultCast = "default"

// Cast returns the cards that a profile plans with: every card whose tags name no cast, and those of the cast of the profile,
// or of the default cast if the profile has none. The order is kept.
func Cast(cards []events.Card, profile string) []events.Card {
	own := events.CastTag + profile
	if !slices.ContainsFunc(cards, func(c events.Card) bool { return slices.Contains(c.Tags, own) }) {
		own = events.CastTag + defaultCast
	}
	cast := make([]events.Card, 0, len(cards))
	for _, c := range cards {
		member := slices.Contains(c.Tags, own)
		if member || !slices.ContainsFunc(c.Tags, inCast) {
			cast = append(cast, c)
		}
	}
	return cast
}

func inCast(tag string) bool { return strings.HasPrefix(tag, events.CastTag) }
