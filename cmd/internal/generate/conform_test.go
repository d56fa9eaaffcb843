package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// mostOpen is how many features may be without a test under their own id. It only falls.
const mostOpen = 5

// Each scenario and each weakness of predecessor systems has its test, and no test claims to prove a weakness that is in no
// list.
func TestNothingOfTheAncestorsIsOpen(t *testing.T) {
	page, err := conformancePage(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	listed, others, found := strings.Cut(string(page), "\n## Others\n")
	if !found {
		t.Fatal("the page has no part for others")
	}
	before, after, _ := strings.Cut(listed, "\n## Features\n")
	features, after, _ := strings.Cut(after, "\n## ")
	for line := range strings.Lines(before + after) {
		if strings.Contains(line, "**open**") {
			t.Errorf("no test: %s", line)
		}
	}
	if open := strings.Count(features, "**open**"); open > mostOpen {
		t.Errorf("%d features have no test that proves them, at most %d may", open, mostOpen)
	}
	for line := range strings.Lines(others) {
		if strings.Contains(line, "-weakness-") || strings.Contains(line, "-T") {
			t.Errorf("in no list: %s", line)
		}
	}
}
