package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// helper is the helper of this test binary.
var helper sandbox.Helper

func TestMain(m *testing.M) {
	helper = sandbox.Hook()
	if name := os.Getenv("JOBGRAPH_TEST_ESCAPE"); name != "" {
		os.Exit(playEscape(name))
	}
	goleak.VerifyTestMain(m)
}

func TestWithoutAHelperThereIsNoSandbox(t *testing.T) {
	boxes := sandbox.NewBoxes(sandbox.Helper{})
	for _, level := range []sandbox.Level{sandbox.Auto, sandbox.Namespaces, sandbox.Landlock} {
		_, err := boxes.Open(level)
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "at level "+string(level)) || !strings.Contains(err.Error(), "--sandbox none") {
			t.Errorf("%s: %v", level, err)
		}
	}
	for level, why := range map[sandbox.Level]string{sandbox.BestEffort: "; landlock: ", sandbox.None: "asked for by name"} {
		if box, err := boxes.Open(level); err != nil || box.Level() != sandbox.None || !strings.Contains(box.Why(), why) {
			t.Errorf("%s: %+v, %v", level, box, err)
		}
	}
}

func TestTheStrongestLevelIsTaken(t *testing.T) {
	boxes := sandbox.NewBoxes(helper)
	want := sandbox.None
	for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Namespaces} {
		if _, err := boxes.Open(level); err == nil {
			want = level
		}
	}
	box, err := boxes.Open(sandbox.BestEffort)
	if err != nil || box.Level() != want {
		t.Fatalf("got %+v, %v, want %s", box, err, want)
	}
	if strictest := want == sandbox.Namespaces; strictest != (box.Why() == "") || !strictest && !strings.HasPrefix(box.Why(), "namespaces: ") {
		t.Errorf("at %s because %q", want, box.Why())
	}
}

// At a level where signals reach other processes, no program that a model chose runs unless the level is requested by name.
func TestOldKernelsDoNotHoldWhatAModelChooses(t *testing.T) {
	for version, fit := range map[int]bool{1: false, 5: false, 6: true} {
		h := helper
		h.Old = version
		boxes := sandbox.NewBoxes(h)
		if box, err := boxes.Open(sandbox.Auto); err != nil || box.Level() != sandbox.Landlock {
			t.Logf("landlock cannot be tested here: %v", err)
			continue
		}
		if _, err := boxes.OpenUntrusted(sandbox.Auto); (err == nil) != fit || err != nil && (!errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "Linux 6.12")) {
			t.Errorf("%d: %v", version, err)
		}
		if box, err := boxes.OpenUntrusted(sandbox.Landlock); err != nil || box.Level() != sandbox.Landlock {
			t.Errorf("%d by name: %v", version, err)
		}
	}
}

// Faults of the helper can be told apart from those of the program.
func TestAProgramThatCannotBeRunIsAFaultOfTheSandbox(t *testing.T) {
	boxes := sandbox.NewBoxes(helper)
	for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Namespaces} {
		box, err := boxes.Open(level)
		if err != nil {
			continue // The test above covers the level in force.
		}
		cmd := &exec.Cmd{Path: "/no/such/program", Args: []string{"program"}, Dir: t.TempDir(), Env: []string{}}
		entry := musttest.Get(box.Wrap(cmd, sandbox.Policy{}))(t)
		group, err := process.Start(cmd)
		entry.Started()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = group.Wait() // Its answer says how the helper has ended.
		if _, _, by, err := entry.Ending(); by || err == nil || !strings.Contains(err.Error(), "enter sandbox: run /no/such/program: no such file") {
			t.Errorf("%s: %v, %v", level, by, err)
		}
		entry.Close()
	}
}
