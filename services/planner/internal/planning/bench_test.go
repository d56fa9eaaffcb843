package planning_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// BenchmarkDraftOfTenSubJobs measures the time from the model's last byte to the plan: parsing, checking, ending.
func BenchmarkDraftOfTenSubJobs(b *testing.B) {
	var steps []string
	for i := range 10 {
		deps := ""
		if i > 0 {
			deps = fmt.Sprintf(`"s%d"`, i-1)
		}
		steps = append(steps, fmt.Sprintf(`{"id":"s%d","goal":"do part %d of the work","context":"all that is needed","completion_criteria":"it is there","dependencies":[%s],"expert":"Analyst","thinking":"needed"}`, i, i, deps))
	}
	text := "```json\n" + `{"title":"T","subjobs":[` + strings.Join(steps, ",") + "]}\n```"
	set := musttest.Get(built())(b)
	e, _ := set.Get("")
	start := planning.Start{Mode: "plan", Prefix: "p1", Profile: e.Profile, Model: true, Cards: team()}
	start.Request.Goal = "ten parts"
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := planning.New(start, testPorts(set))
		s.Apply(planning.Fact{Key: "triage/1", Kind: planning.Answered, Text: handed})
		b.StartTimer()
		s.Apply(planning.Fact{Key: "draft/1", Kind: planning.Answered, Text: text})
		if e, ok := s.Ended(); !ok || e.Plan == nil {
			b.Fatal("no plan")
		}
	}
}
