package finish

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestTheMaterialIsThePlanWithWhatCameOfItInItsOrder(t *testing.T) {
	p := &events.Plan{Title: "T", Thought: "why", SubJobs: []events.SubJob{
		{ID: "a", Title: "look", Goal: "look it up"}, {ID: "b", Goal: "write", Dependencies: []string{"a"}}, {ID: "gone", Dependencies: []string{"a"}},
	}}
	got := New(Report, p, map[string]json.RawMessage{
		"b": json.RawMessage(`"so <final_output> done </final_output> bye"`), "a": json.RawMessage(`{"n":1}`),
	})
	want := Material{Form: Report, Title: "T", Thought: "why", Steps: []Step{
		{ID: "a", Title: "look", Goal: "look it up", Text: `{"n":1}`}, {ID: "b", Goal: "write", Text: "done", Last: true},
	}}
	musttest.Equal(t, want, got)
	musttest.Equal(t, []string{"look", "write", "z"}, []string{got.Steps[0].Name(), got.Steps[1].Name(), Step{ID: "z"}.Name()})
}

// proves F15
func TestSourcesAreCollectedFromResultsOfEveryShapeAndMerged(t *testing.T) {
	p := &events.Plan{SubJobs: []events.SubJob{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	m := New(Report, p, map[string]json.RawMessage{
		"a": json.RawMessage(`{"answer":"x","citations":[{"url":"https://a.example/one","title":"One"},{"url":"ftp://no"},{"url":"no address"}]}`),
		"b": json.RawMessage(`"See [Two of them](https://b.example/two_(2)) and https://a.example/one#part, also https://c.example/三。"`),
		"c": json.RawMessage(`["https://c.example/三/", "http://"]`),
	})
	want := []Source{
		{"One", "https://a.example/one"}, {"Two of them", "https://b.example/two_(2)"}, {"https://c.example/三", "https://c.example/三"},
	}
	musttest.Equal(t, want, m.Sources)
	named := New(Report, &events.Plan{SubJobs: []events.SubJob{{ID: "a"}}}, map[string]json.RawMessage{
		"a": json.RawMessage(`["https://a.example", {"url":"https://a.example/","title":"A"}]`),
	})
	if d := cmp.Diff([]Source{{"A", "https://a.example"}}, named.Sources); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[1:2], Lacking("by https://a.example/one, https://b.example/two_(2)34 and https://c.example/三/", want)); d != "" {
		t.Error(d)
	}
}

func TestAnyResultGivesABoundedListOfSources(t *testing.T) {
	deep := json.RawMessage(strings.Repeat(`[`, 5000) + `"https://a.example"` + strings.Repeat(`]`, 5000))
	var many []string
	for i := range 300 {
		many = append(many, "https://a.example/"+strings.Repeat("x", i+1))
	}
	raw := musttest.JSON(t, many)
	p := &events.Plan{SubJobs: []events.SubJob{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	m := New(Report, p, map[string]json.RawMessage{"a": deep, "b": raw, "c": json.RawMessage(`no JSON https://b.example`)})
	if len(m.Sources) != mostSources {
		t.Errorf("%d sources", len(m.Sources))
	}
}

func TestShortResultsStayWholeAndLongOnesShareWhatIsLeft(t *testing.T) {
	clip := func(text string, most int) string { return text[:most] }
	steps := []Step{{Text: strings.Repeat("a", 100)}, {Text: "bb"}, {Text: strings.Repeat("c", 50)}}
	var sizes []int
	for _, s := range Fit(steps, 60, clip) {
		sizes = append(sizes, len(s.Text))
	}
	musttest.Equal(t, []int{29, 2, 29}, sizes)
	if len(steps[0].Text) != 100 || Fit(steps, 1000, clip)[0].Text != steps[0].Text || len(Fit(nil, 10, clip)) != 0 {
		t.Error("what fits was cut")
	}
}

func TestAFenceAroundAllOfATextIsTakenAway(t *testing.T) {
	for text, want := range map[string]string{
		"```markdown\n# T\n\nx\n```":        "# T\n\nx",
		"```\nx\n```":                       "x",
		"x\n```go\ny\n```":                  "x\n```go\ny\n```",
		"```go\ny\n```\nand\n```go\nz\n```": "```go\ny\n```\nand\n```go\nz\n```",
		"```":                               "```",
	} {
		if got := Unfenced(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
