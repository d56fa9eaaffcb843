package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}
