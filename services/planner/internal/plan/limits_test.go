package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

func TestTheActivePlanIsNeverInExcess(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	b := plan.Book{Active: "a", Boards: []plan.Board{{ID: "a", Used: at(1)}, {ID: "b", Used: at(3)}, {ID: "c", Used: at(2)}, {ID: "d", Used: at(2)}}}
	for n, want := range map[int]string{0: "", 4: "", 3: "c", 2: "c d", 1: "c d b"} {
		if got := strings.Join(b.Excess(plan.Limits{Number: n}), " "); got != want {
			t.Errorf("limit %d: %q, expected %q", n, got, want)
		}
	}
}
