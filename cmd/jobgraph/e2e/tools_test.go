//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The analyst of the example uses sql and plot of jobgraph-tools, a program beside the CLI, in the sandbox of this machine.
func TestTheTableIsAnalysedBySQLAndDrawn(t *testing.T) {
	const sales = "../../../examples/sales"
	home, into := t.TempDir(), t.TempDir()
	env := []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	runProgram(t, "jobgraph", env, []string{
		"run", "--embedded", "--no-input", "-f", filepath.Join(sales, "job.yaml"), "--attach", filepath.Join(sales, "sales.csv"),
		"--model", "fake:" + filepath.Join(sales, "tools-model.yaml"), "--artifacts", into,
	}, "").wants(t, 0, "West grew by 63.0 percent")
	chart, err := os.ReadFile(filepath.Join(into, "main", "revenue.svg"))
	if err != nil || !strings.Contains(string(chart), ">West</text>") {
		t.Errorf("%d bytes, %v", len(chart), err)
	}
}
