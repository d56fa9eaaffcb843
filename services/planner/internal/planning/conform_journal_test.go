package planning_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// recorded is a journaled planning, and how it ended.
type recorded struct {
	Start  planning.Start   `json:"start"`
	Facts  []planning.Fact  `json:"facts"`
	Ending *planning.Ending `json:"ending"`
}

// Planning that waits for a person may be continued by a later version of the planner. The files are never edited: -update
// only writes missing ones.
func TestSessionsRecordedByOlderVersionsFoldToTheSameEnd(t *testing.T) {
	yes := true
	for name, script := range scripts {
		file := filepath.Join("testdata", "journal", name+".v1.json")
		if _, err := os.Stat(file); goldentest.Update() && os.IsNotExist(err) {
			s := script(open(t, name, "the price of gold", review, func(s *planning.Start) { s.Request.Investigate = &yes }))
			e, _ := s.Ended()
			text := musttest.Get(json.MarshalIndent(recorded{s.start, s.facts, e}, "", " "))(t)
			musttest.Write(t, file, append(text, '\n'))
		}
		text := musttest.Get(os.ReadFile(file))(t)
		var old recorded
		musttest.Decode(t, text, &old)
		set := musttest.Get(built())(t)
		e, ok := planning.Fold(old.Start, testPorts(set), old.Facts).Ended()
		if !ok {
			t.Fatalf("%s does not end", name)
		}
		if d := cmp.Diff(written(t, old.Ending), written(t, e)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func written(t *testing.T, e *planning.Ending) string {
	t.Helper()
	return string(musttest.Get(json.MarshalIndent(e, "", " "))(t))
}
