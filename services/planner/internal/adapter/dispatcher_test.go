package adapter

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A consultation is withdrawn wherever it can be claimed: on the subject that the work names, and on the one without a pool, where
// work of an earlier release is claimed.
func TestAQuestionIsWithdrawnWhereItCanBeClaimed(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("planner")
	n := b.Names()
	for subjob, pools := range map[string][]string{"alone": {""}, "pooled": {"", "gpu"}} {
		w := &events.Work{Job: "j", SubJob: subjob, Run: 1, ClaimSubject: n.JournalIn("j", subjob, pools[len(pools)-1])}
		for range 2 {
			musttest.Do(t, (Dispatcher{Bus: b}).Close(t.Context(), w, "enough"))
		}
		for _, pool := range []string{"", "gpu", "other"} {
			list, _, err := b.Journal("j", subjob).In(pool).Read(t.Context())
			want := 0
			for _, p := range pools {
				if p == pool {
					want = 1
				}
			}
			if err != nil || len(list) != want {
				t.Errorf("%s, pool %q: %+v, %v", subjob, pool, list, err)
			}
		}
	}
}
