package plan

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// proves D19
func TestDoubtsAboutAPlanAreNamedByKind(t *testing.T) {
	one := func(goal, kind string) events.SubJob {
		return events.SubJob{ID: "a", Goal: goal, Type: kind, Expert: "x"}
	}
	for name, test := range map[string]struct {
		plan events.Plan
		want string
	}{
		"good":                 {events.Plan{Locale: "en-US", SubJobs: []events.SubJob{one("Collect prices of gold since 2020", "research"), {ID: "b", Goal: "Compute the mean price", Type: "processing"}}}, ""},
		"good in Chinese":      {events.Plan{Locale: "zh-CN", SubJobs: []events.SubJob{one("收集 GDP 数据", "research")}}, ""},
		"the same twice":       {events.Plan{SubJobs: []events.SubJob{one("Collect the prices", ""), {ID: "b", Goal: "collect the prices ", Expert: "x"}}}, "sensible"},
		"the request again":    {events.Plan{OrigQuery: "Compare the two stores", SubJobs: []events.SubJob{one("Compare the two stores", ""), {ID: "b", Goal: "Collect the prices"}}}, "sensible"},
		"one step is no split": {events.Plan{OrigQuery: "Compare the two stores", SubJobs: []events.SubJob{one("Compare the two stores", "")}}, ""},
		"a summary":            {events.Plan{SubJobs: []events.SubJob{one("Collect the prices", ""), {ID: "b", Goal: "Summarize the findings"}}}, "sensible"},
		"too little":           {events.Plan{SubJobs: []events.SubJob{one("do it", "")}}, "executable"},
		"computing research":   {events.Plan{SubJobs: []events.SubJob{one("Calculate the mean of all prices", "research")}}, "step_type"},
		"wrong language":       {events.Plan{Locale: "zh-CN", SubJobs: []events.SubJob{one("Collect the prices", "")}}, "language"},
		"wrong language too":   {events.Plan{Locale: "en-US", SubJobs: []events.SubJob{one("收集黄金价格数据", "")}}, "language"},
	} {
		var kinds []string
		for _, r := range Quality(&test.plan) {
			kinds = append(kinds, r.Kind)
			if r.Message == "" || r.SubJob == "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if got := strings.Join(kinds, " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
