package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAGraphIsReadFromAPlan(t *testing.T) {
	for text, want := range map[string]struct {
		graph baseline.Graph
		fault string
	}{
		`{"subjobs":[{"id":"a","goal":"x"},{"id":"b","goal":"x","dependencies":["a"]},{"id":"c","goal":"x","dependencies":["b","a"]}]}`: {graph: baseline.Graph{nil, {0}, {1, 0}}},
		`{"subjobs":[]}`: {fault: "no subjobs"},
		`nothing`:        {fault: "no plan"},
		`{"subjobs":[{"id":"a","goal":"x","dependencies":["z"]}]}`:                                            {fault: `depends on "z"`},
		`{"subjobs":[{"id":"a","goal":"x"},{"id":"a","goal":"x"}]}`:                                           {fault: "there twice"},
		`{"subjobs":[{"id":"a","goal":"x","dependencies":["b"]},{"id":"b","goal":"x","dependencies":["a"]}]}`: {fault: "in a circle"},
	} {
		path := filepath.Join(t.TempDir(), "plan.json")
		musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := readDAG(path)
		if want.fault == "" {
			if diff := cmp.Diff(want.graph, got); diff != "" || err != nil {
				t.Errorf("%s: %v %s", text, err, diff)
			}
		} else if err == nil || !strings.Contains(err.Error(), want.fault) {
			t.Errorf("%s: %v, want %s", text, err, want.fault)
		}
	}
}
