package app

import (
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestCallsAreBoundedByMemory(t *testing.T) {
	for memory, want := range map[uint64]int{0: 256, 64 << 20: 16, 512 << 20: 64, 2 << 30: 256, 24 << 30: 256} {
		if got := callPlaces(memory); got != want {
			t.Errorf("%d places with %d MiB, want %d", got, memory>>20, want)
		}
	}
}

func TestExpertsThatWaitForOthersAreCalls(t *testing.T) {
	dir := t.TempDir()
	for name, front := range map[string]string{
		"web":     "kind: http\nurl: http://127.0.0.1:9/",
		"person":  "kind: human",
		"program": "kind: command\ncommand: [\"true\"]",
	} {
		card := "---\nname: " + name + "\ndescription: d\n" + front + "\n---\nbody\n"
		musttest.Write(t, filepath.Join(dir, name+".md"), card)
	}
	s := Settings{}
	read := readBook("", []string{dir}, func(string) (string, bool) { return "", false })
	c := musttest.Get(newCatalog(&s, read, nil, newModels(&read.config, &s), nil))(t)
	for id, want := range map[string]bool{"web": true, "person": true, "program": false} {
		x := c.experts[id]
		if x == nil {
			t.Fatalf("no expert %s among %v", id, c.ids())
		}
		if x.Calls != want {
			t.Errorf("%s: a call is %v, want %v", id, x.Calls, want)
		}
	}
}
