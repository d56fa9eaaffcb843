package finish

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// proves C42
func TestFilesOfTheLastStepsBelongToTheResultAndOnlyRealOnesAreCited(t *testing.T) {
	p := &events.Plan{SubJobs: []events.SubJob{{ID: "a"}, {ID: "b", Dependencies: []string{"a"}}, {ID: "c"}}}
	m := New(Report, p, map[string]json.RawMessage{
		"a": json.RawMessage(`"table"`), "c": json.RawMessage(`""`),
		"b": json.RawMessage(`"See [the table](artifact:a/t%20[1].csv), [Rows](artifact:a/t%201.csv), artifact:c/x.md and https://a.example."`),
	})
	m.Attach(map[string][]events.Ref{
		"a": {{Name: "t 1.csv", Size: 3}}, "c": {{Name: "x.md", Size: 5}, {Name: "[y].md"}}, "gone": {{Name: "z"}},
	})
	sources := []Source{{"Rows", "artifact:a/t%201.csv"}, {"artifact:c/x.md", "artifact:c/x.md"}, {"https://a.example", "https://a.example"}}
	musttest.Equal(t, sources, m.Sources)
	musttest.Equal(t, []events.Ref{{Name: "c/x.md", Size: 5}, {Name: "c/[y].md"}}, m.Artifacts)
	texts := []string{"table\n\n- [t 1.csv](artifact:a/t%201.csv), 3 bytes", "- [x.md](artifact:c/x.md), 5 bytes\n- [(y).md](artifact:c/%5By%5D.md), 0 bytes"}
	musttest.Equal(t, texts, []string{m.Steps[0].Text, m.Steps[2].Text})
}
