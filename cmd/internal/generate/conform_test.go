package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Each scenario, feature and weakness of predecessor systems has its test or the reason why it is not built, scenarios and features have
// one from outside, and no test claims to prove what is in no list.
//
// proves F-weakness-j
func TestNothingOfTheAncestorsIsOpen(t *testing.T) {
	page := musttest.Get(conformancePage(filepath.Join("..", "..", "..")))(t)
	listed, others, found := strings.Cut(string(page), "\n## Others\n")
	if !found {
		t.Fatal("the page has no part for others")
	}
	for line := range strings.Lines(listed) {
		if strings.Contains(line, "**open**") {
			t.Errorf("no test: %s", line)
		}
	}
	wanted, _, _ := strings.Cut(listed, "\n## Weaknesses")
	var inside []string
	for line := range strings.Lines(wanted) {
		if cells := strings.Split(line, " | "); len(cells) > 2 && cells[len(cells)-2] == "–" {
			inside = append(inside, cells[0][len("| "):])
		}
	}
	if len(inside) > 0 {
		t.Errorf("these have no test from outside: %s", strings.Join(inside, " "))
	}
	others, _, _ = strings.Cut(others, "\n## ")
	for line := range strings.Lines(others) {
		if strings.Contains(line, "-weakness-") || strings.Contains(line, "-T") {
			t.Errorf("in no list: %s", line)
		}
	}
}
