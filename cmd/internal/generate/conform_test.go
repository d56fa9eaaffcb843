package main

import (
	"path/filepath"
	"strings"
	"testing"
)

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
	for line := range strings.Lines(listed) {
		if strings.Contains(line, "**open**") {
			t.Errorf("no test: %s", line)
		}
	}
	for line := range strings.Lines(others) {
		if strings.Contains(line, "-weakness-") || strings.Contains(line, "-T") {
			t.Errorf("in no list: %s", line)
		}
	}
}
