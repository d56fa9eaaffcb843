package chaos

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestATourGoesThroughEveryMixUpAndBack(t *testing.T) {
	var now mix
	seen := map[mix]bool{now: true}
	roles := tour()
	for i, role := range roles {
		now = now.with(role)
		seen[now] = true
		if up := len(roles) - 4; i == up && now != (mix{true, true, true}) {
			t.Errorf("behind the upgrade: %v", now)
		}
	}
	if len(seen) != 8 || now != (mix{}) {
		t.Errorf("%d mixes, %v at the end", len(seen), now)
	}
}

func TestTheQuickExpertWritesDownItsCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks")
	musttest.Do(t, os.WriteFile(path, nil, 0o600))
	q := musttest.Get(startQuick(path))(t)
	r := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+q.listener.Addr().String(), nil))(t)
	r.Header.Set("Idempotency-Key", "j@7/s/2")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", answer.StatusCode, err)
	}
	if err := q.close(); err != nil {
		t.Error(err)
	}
	marks := musttest.Get(readMarks(path))(t)
	if list := marks[[2]string{"j", "s"}]; len(list) != 1 || list[0].run != 2 || list[0].end.IsZero() {
		t.Errorf("%v", marks)
	}
}

func TestAQuickPlanIsAFanWithOneOfTheForeignWorker(t *testing.T) {
	for _, worker := range []bool{false, true} {
		plan, others := quickPlan(worker), 0
		for _, s := range plan {
			if s.Expert == foreign {
				others++
			}
		}
		if last := plan[len(plan)-1]; len(plan) != quickWidth+2 || len(last.Dependencies) != quickWidth || (others == 1) != worker {
			t.Errorf("%d SubJobs, %d of the worker", len(plan), others)
		}
	}
}
