package plan_test

import (
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

func TestAProfilePlansWithItsOwnCastAndTheCardsOfUsers(t *testing.T) {
	cards := []events.Card{
		{ID: "analyst", Tags: []string{"cast:default", "builtin"}},
		{ID: "design-expert", Tags: []string{"cast:graph", "builtin"}},
		{ID: "mine"},
		{ID: "both", Tags: []string{"cast:graph", "cast:default"}},
		{ID: "plain", Tags: []string{"builtin"}},
	}
	for profile, want := range map[string][]string{
		"graph":    {"design-expert", "mine", "both", "plain"},
		"research": {"analyst", "mine", "both", "plain"},
		"":         {"analyst", "mine", "both", "plain"},
	} {
		var got []string
		for _, c := range plan.Cast(cards, profile) {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", profile, got, want)
		}
	}
}
