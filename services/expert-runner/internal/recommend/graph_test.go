package recommend_test

import (
	"math"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/recommend"
)

// graph is understand → extract → load, and understand → check, which fits badly.
func graph() recommend.Graph {
	return recommend.Graph{
		"understand": {Description: "Read it", Tools: map[string]float64{"read": 1, "pages__*": 0.6, "scan": 0.2}, Next: map[string]float64{"extract": 0.9, "check": 0.3}},
		"extract":    {Tools: map[string]float64{"read": 1, "pick": 0.5}, Next: map[string]float64{"load": 0.5, "understand": 1}},
		"load":       {Tools: map[string]float64{"write": 0.8}},
		"check":      {Tools: map[string]float64{"judge": 1}},
	}
}

// proves C-T8
// proves C33
func TestToolsAreRecommendedAsFarAsHopsAndThresholdReach(t *testing.T) {
	for name, test := range map[string]struct {
		wish           recommend.Wish
		actions, tools []string
	}{
		"no hop":             {recommend.Wish{Actions: []string{"understand"}, Threshold: 0.5}, []string{"understand"}, []string{"pages__*", "read"}},
		"one hop":            {recommend.Wish{Actions: []string{"understand"}, Hops: 1, Threshold: 0.5}, []string{"understand", "extract"}, []string{"pages__*", "read", "pick"}},
		"two hops":           {recommend.Wish{Actions: []string{"understand"}, Hops: 2, Threshold: 0.5}, []string{"understand", "extract", "load"}, []string{"pages__*", "read", "pick", "write"}},
		"a high threshold":   {recommend.Wish{Actions: []string{"understand"}, Hops: 5, Threshold: 0.9}, []string{"understand", "extract"}, []string{"read"}},
		"no threshold":       {recommend.Wish{Actions: []string{"understand"}, Hops: 1}, []string{"understand", "check", "extract"}, []string{"pages__*", "read", "scan", "judge", "pick"}},
		"several beginnings": {recommend.Wish{Actions: []string{"load", "check", "load"}, Threshold: 0.5}, []string{"load", "check"}, []string{"write", "judge"}},
		"a circle":           {recommend.Wish{Actions: []string{"extract", "understand"}, Hops: 100, Threshold: 0.5}, []string{"extract", "understand", "load"}, []string{"pick", "read", "pages__*", "write"}},
		"nowhere":            {recommend.Wish{Actions: []string{"fly"}, Hops: 1}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := graph().Recommend(test.wish)
			var list []string
			for _, way := range got.Actions {
				list = append(list, way.Name)
			}
			musttest.Equal(t, test.actions, list)
			musttest.Equal(t, test.tools, got.Tools)
		})
	}
}

func TestEveryFaultOfAToolkitIsToldWithItsPlace(t *testing.T) {
	g := graph()
	g["load"] = recommend.Action{Tools: map[string]float64{"write": 1.5, "fly": math.NaN()}, Next: map[string]float64{"land": -1}}
	g["?"] = recommend.Action{}
	var got []string
	for _, f := range g.Faults("toolkit", func(name string) bool { return name != "fly" }) {
		got = append(got, f.Error())
	}
	want := []string{
		`toolkit.?: "?" is no name of an action`, `toolkit.load.tools.fly: there is no tool "fly"`, "toolkit.load.tools.fly: the score NaN is not from 0 to 1",
		"toolkit.load.tools.write: the score 1.5 is not from 0 to 1", `toolkit.load.next.land: there is no action "land"`, "toolkit.load.next.land: the score -1 is not from 0 to 1",
	}
	musttest.Equal(t, want, got)
	if faults := graph().Faults("toolkit", func(string) bool { return true }); len(faults) > 0 {
		t.Error(faults)
	}
}
