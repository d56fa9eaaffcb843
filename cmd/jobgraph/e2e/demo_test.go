//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
)

// A runner with agents is killed with -9 in the middle of its calls, repeatedly, as `demo crash` shows.
func TestAgentsOfAKilledRunnerPayNothingTwice(t *testing.T) {
	t.Parallel() // It mostly waits.
	env := []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "TMPDIR=" + t.TempDir()}
	for range 3 {
		r := runProgram(t, "jobgraph", env, []string{"demo", "crash", "-o", "json"}, "")
		var got struct {
			Finished int      `json:"finished_calls"`
			Repeated int      `json:"finished_calls_repeated"`
			Again    []string `json:"calls_in_flight_repeated"`
			Payments int      `json:"payments"`
		}
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
			t.Fatalf("exit %d: %v\n%s%s", r.code, err, r.out, r.err)
		}
		if got.Finished != 2 || got.Repeated != 0 || len(got.Again) > 1 || got.Payments != 1 {
			t.Errorf("%+v", got)
		}
	}
}
