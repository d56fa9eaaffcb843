package plan

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The reviewer of a plan sees numbers and titles: what a step needs is named by its number. A step of the plan before has none.
func TestTheTextOfAPlanNamesWhatAStepNeedsByNumber(t *testing.T) {
	p := &events.Plan{Title: "Gold", SubJobs: []events.SubJob{
		{ID: "find", Title: "Find the sources", Goal: "Look around", Expert: "scout"},
		{ID: "read", Goal: "Read them", Expert: "reader", Dependencies: []string{"find"}},
		{ID: "tell", Title: "Tell", Goal: "Tell", ExpertName: "Writer", Dependencies: []string{"read", "find", "done~1"}},
	}}
	want := "Gold\n1. Find the sources · scout\n   Look around\n2. Read them · reader\n   ← 1\n3. Tell · Writer\n   Tell\n   ← 2, 1, done~1"
	if got := Text(p); got != want {
		t.Errorf("%s", got)
	}
}
