package planning_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// scripts holds, for each profile, one planning that passes as many of its stages as possible.
var scripts = map[string]func(s *stage) *stage{
	"default": func(s *stage) *stage {
		s.says(`{"decision":"clarify","question":"Which?"}`).person("gold").says(handed)
		s.fact(planning.Fact{Kind: planning.Found, Findings: []planning.Finding{{Source: "s", Text: "t"}}})
		s.says("no plan", daily).person("yes").person("edit: also silver").says(daily).person("yes").person("accept")
		return s
	},
	"graph": func(s *stage) *stage {
		return s.says("{"+task("a", "Nobody")+"}", "{"+task("a", "Analyst")+"}").person("hm").person("accepted")
	},
	"assistant": func(s *stage) *stage { return s.says(handed, daily).person("确认") },
	"research": func(s *stage) *stage {
		s.says(handed).fact(planning.Fact{Kind: planning.Failed})
		return s.says(research(false, gather, compute)).person("[EDIT_PLAN] shorter").says("oops", "oops").person("[ACCEPTED]")
	},
	"steps": func(s *stage) *stage { return s.says("no plan").person("accept") },
}

// proves D1
func TestEveryProfileTakesItsStagesAsTheGoldenTraceSays(t *testing.T) {
	yes := true
	for name, script := range scripts {
		s := script(open(t, name, "the price of gold", review, func(s *planning.Start) { s.Request.Investigate = &yes }))
		s.ends(events.KindGraphCreated)
		var b strings.Builder
		replay := planning.New(s.start, s.ports)
		moves := 0
		tell := func() {
			for _, m := range replay.State().Moves[moves:] {
				fmt.Fprintf(&b, "  %s, %s → %s\n", m.From, m.On, m.To)
			}
			moves = len(replay.State().Moves)
			c := replay.Pending()
			fmt.Fprintf(&b, "%s %s\n", c.Kind, c.Key)
		}
		tell()
		for _, f := range s.facts {
			fmt.Fprintf(&b, "← %s\n", f.Kind)
			replay.Apply(f)
			tell()
		}
		if e, ok := replay.Ended(); ok {
			fmt.Fprintf(&b, "%s, %d rounds, %d calls, fallback %q\n", e.Kind, e.Rounds, e.Calls, e.Fallback)
		}
		goldentest.Same(t, filepath.Join("testdata", "traces", name+".golden"), b.String())
	}
}

func TestAStageThatIsOffOwesNothingAndLeavesNoTrace(t *testing.T) {
	yes := true
	for _, off := range planning.Optional() {
		s := open(t, "default", "the price of gold", review, func(s *planning.Start) {
			s.Request.Investigate = &yes
			s.Profile.Stages = slices.DeleteFunc(slices.Clone(s.Profile.Stages), func(stage planning.Stage) bool { return stage == off })
		})
		for range 30 {
			c := s.Pending()
			if c.Stage == off {
				t.Errorf("%s is off and owes %s", off, c.Kind)
			}
			switch c.Kind {
			case planning.Investigate:
				s.fact(planning.Fact{Kind: planning.Found, Findings: []planning.Finding{{Source: "s", Text: "t"}}})
			case planning.Ask:
				s.person("accept")
			case planning.Call:
				if c.Stage == planning.StageTriage {
					s.says(`{"decision":"clarify","question":"Which?"}`)
				} else {
					s.says(daily)
				}
			}
		}
		s.ends(events.KindGraphCreated)
		for _, m := range s.State().Moves {
			if m.From == off {
				t.Errorf("%s is off and moved: %+v", off, m)
			}
		}
	}
}
