//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/internal/chaos"
)

// One minute of what `jobgraph bench --chaos` does for ten by default: it kills, suspends and restarts all processes,
// several at once; afterwards log, journals, states and the marks of the programs agree.
func TestUnderRandomFaultsWhatIsPromisedHolds(t *testing.T) {
	t.Parallel() // It mostly waits.
	r := runWithin(t, 5*time.Minute, "jobgraph", []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, []string{
		"bench", "--chaos", "--duration", "45s", "--seed", "20261123", "-o", "json",
	}, "")
	var report chaos.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatalf("exit code %d, %v\n%s\n%s", r.code, err, r.out, r.err)
	}
	if r.code != 0 || !report.Sound() {
		t.Errorf("exit code %d, broken: %v\n%v\n%s", r.code, slices.Sorted(maps.Keys(report.Violations)), report.Violations, r.err)
	}
	if report.Faults < 12 || report.InFlight == 0 || report.Accepted == 0 || report.Accepted != report.Finished+report.Failed || report.Executions == 0 {
		t.Errorf("the campaign proves little: %+v", report)
	}
}
