package graph

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestOnlyOperandsOfAConditionAreRenamed(t *testing.T) {
	for when, want := range map[string]string{
		"x.go":                            "N.go",
		"!x.a.0 and(ax.b or not x.c)":     "!N.a.0 and(ax.b or not N.c)",
		`x.a == "x.go or x.b" or x.c`:     `N.a == "x.go or x.b" or N.c`,
		"1.a > 1.5 && x.b != -.5||x.c":    "M.a > 1.5 && N.b != -.5||N.c",
		"x.a >= +1.5 and x.b == true":     "N.a >= +1.5 and N.b == true",
		"x.a==null or x.b<1.5e+3\t|| x.c": "N.a==null or N.b<1.5e+3\t|| N.c",
	} {
		got := RenameOperands(when, func(name, _ string) string {
			return map[string]string{"x": "N", "1": "M", "ax": "ax"}[name]
		})
		musttest.Equal(t, want, got)
	}
}

func TestAConditionReadsValuesOfAnySize(t *testing.T) {
	long := strings.Repeat("ö", 450) // 900 bytes, the longest that a condition can have.
	list := "[" + strings.Repeat("1,", 5000) + "1]"
	output := json.RawMessage(`{"text":"` + long + long + `","list":` + list + `,"object":{"list":` + list + `},"quotes":"` + strings.Repeat(`\u0001`, 5000) +
		`","fits":"` + long + `","none":null,"zero":0.` + strings.Repeat("0", 300) + `}`)
	for when, want := range map[string]bool{
		"a.text":                       true,
		"not a.text":                   false,
		"a.text == '" + long + "'":     false,
		"a.text != '" + long + "'":     true,
		"a.text > '" + long + "'":      true,
		"a.text < '" + long + "p'":     false,
		"a.text >= 'z'":                true,
		"a.fits == '" + long + "'":     true,
		"a.fits > '" + long + "'":      false,
		"a.fits == '" + long + "…'":    false,
		"a.list and a.object":          true,
		"a.list == true":               true,
		"a.list == null":               false,
		"a.quotes < ' '":               true,
		"a.zero or a.none or a.absent": false,
	} {
		g := start(t, func(r *events.Rules) { r.Version = sizesSince })
		b := sub("b", "a")
		b.When = when
		g.plan("~plan", sub("a"), b)
		g.report("a", events.SubJobReported{Outcome: events.Success, Output: output})
		if got := !g.job.dag.find("b").Skipped; got != want {
			t.Errorf("%.20s: %t, want %t", when, got, want)
		}
		if saved, err := json.Marshal(g.job); err != nil || len(saved) > 16<<10 {
			t.Errorf("%.20s: %d bytes are saved, %v", when, len(saved), err)
		}
		if want {
			g.succeed("b")
		}
		g.wantStatus(events.Finished)
	}
}

func TestALogOfOlderRulesReadsShortValuesOnly(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Version = sizesSince - 1 })
	b, c := sub("b", "a"), sub("c", "a")
	b.When, c.When = "a.long", "a.short"
	g.plan("~plan", sub("a"), b, c)
	g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"short":"x","long":"` + strings.Repeat("x", 300) + `"}`)})
	if !g.job.dag.find("b").Skipped || g.job.dag.find("c").Skipped {
		t.Errorf("%+v", g.job.dag.find("a").Selected)
	}
	g.succeed("c")
	g.wantStatus(events.Finished)
}
