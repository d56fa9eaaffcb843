//go:build linux

package command_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
)

// TestRunnerToKill is not a test: it is the runner that TestARunnerThatWasKilledLeavesNothingBehind kills.
func TestRunnerToKill(t *testing.T) {
	dir, ok := os.LookupEnv("RUNNER_TO_KILL")
	if !ok {
		return
	}
	x := musttest.Get(command.New(command.Config{Argv: []string{"/bin/sh", "-c", `echo $$ >` + dir + `/1; setsid sleep 600 >/dev/null 2>&1 & echo $! >` + dir + `/2; wait`}, Workspaces: dir}))(t)
	x.Run(context.Background(), task())
}

func TestARunnerThatWasKilledLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	runner := exec.Command(os.Args[0], "-test.run", "^TestRunnerToKill$")
	runner.Env = append(os.Environ(), "RUNNER_TO_KILL="+dir)
	musttest.Do(t, runner.Start())
	running := pids(t, dir, "1", "2")
	if removed, err := workspace.Sweep(dir); err != nil || len(removed) != 0 {
		t.Fatalf("swept from under a living runner: %v %v", removed, err)
	}
	musttest.Do(t, runner.Process.Signal(syscall.SIGKILL))
	_ = runner.Wait() // It was killed.
	gone(t, running[0])
	removed, err := workspace.Sweep(dir)
	if err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
	gone(t, running[1])
	if left, err := filepath.Glob(filepath.Join(dir, "jobgraph-run-*")); err != nil || len(left) != 0 {
		t.Errorf("left %s, %v", strings.Join(left, " "), err)
	}
}
