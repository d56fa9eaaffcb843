package planning_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// most is the number of commands that no built-in profile exceeds, whatever the answers are.
const most = 40

// stubborn gives the same answer to everything, and returns the number of commands until the end.
func stubborn(t *testing.T, s *stage, text string) int {
	t.Helper()
	raw := musttest.JSON(t, text)
	for n := range most {
		c := s.Pending()
		switch c.Kind {
		case planning.End:
			return n
		case planning.Call:
			s.fact(planning.Fact{Kind: planning.Answered, Text: text})
		case planning.Investigate:
			s.fact(planning.Fact{Kind: planning.Found, Findings: []planning.Finding{{Source: "s", Text: text}}})
		case planning.Ask:
			s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: raw})
		case planning.Await:
			s.fact(planning.Fact{Kind: planning.Cards, Cards: s.start.Cards, Waited: true})
		}
	}
	t.Fatalf("no end after %d commands: %s", most, s.path())
	return most
}

// proves O-weakness-issue-458
func TestAModelAndAPersonWhoAlwaysSayTheSameComeToAnEnd(t *testing.T) {
	yes := true
	ask := func(s *planning.Start) { s.Request.Investigate, s.Request.AutoAccept = &yes, no() }
	for name := range scripts {
		for _, text := range []string{
			"", "no", "nonsense", `{"decision":"clarify","question":"Which?"}`, handed, delegated, daily, lacking, research(false, gather), research(true),
			"edit: otherwise", "[EDIT_PLAN] otherwise", "accept", "{", strings.Repeat("{[", 10_000), "{" + task("a", "a", "a") + "}", `{"tasks":[]}`, `"`, "\x00\xff",
		} {
			s := open(t, name, text, ask)
			stubborn(t, s, text)
			e, _ := s.Ended()
			if e.Kind == events.KindPlanRejected && (len(e.Faults) == 0 || e.Faults[0].Code == events.CodeInternal) {
				t.Errorf("%s, %.40q: %+v", name, text, e)
			}
		}
	}
}

// FuzzWhateverIsSaid gives fuzzed answers to every built-in profile.
func FuzzWhateverIsSaid(f *testing.F) {
	for _, text := range []string{handed, delegated, daily, lacking, "accept", "edit: x", "{", research(false, gather)} {
		f.Add(text, "accept")
		f.Add("nonsense", text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for name := range scripts {
			s := open(t, name, a, review)
			for n := 0; ; n++ {
				if n > most {
					t.Fatalf("%s: no end: %s", name, s.path())
				}
				c := s.Pending()
				if c.Kind == planning.End {
					break
				}
				text := a
				if n%2 == 1 {
					text = b
				}
				fact := planning.Fact{Kind: planning.Answered, Text: text}
				switch c.Kind {
				case planning.Investigate:
					fact.Kind = planning.Failed
				case planning.Ask:
					fact = planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: []byte(text)}
				}
				s.fact(fact)
			}
			e, _ := s.Ended()
			if len(e.Faults) > 0 && e.Faults[0].Code == events.CodeInternal {
				t.Fatal(fmt.Sprint(e.Faults))
			}
		}
	})
}
