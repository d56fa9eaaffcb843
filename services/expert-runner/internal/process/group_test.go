package process_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

func TestMain(m *testing.M) {
	helper = process.Hook()
	if os.Getenv(process.EchoKey) != "" {
		_, _ = io.Copy(os.Stdout, os.Stdin) // The test reads what comes.
		return
	}
	goleak.VerifyTestMain(m)
}

// helper makes this binary a keeper.
var helper process.Helper

// both runs a test with a keeper and without.
func both(t *testing.T, test func(t *testing.T, start starts)) {
	t.Helper()
	t.Run("without a keeper", func(t *testing.T) { test(t, process.Start) })
	t.Run("with a keeper", func(t *testing.T) {
		k := process.NewKeeper(helper, time.Hour)
		defer k.Close()
		test(t, k.Start)
	})
}

// starts is a way to start programs.
type starts func(*exec.Cmd) (*process.Group, error)

// shell starts a script and returns its first line of output, which it prints when it is ready.
func shell(t *testing.T, start starts, cmd *exec.Cmd) (*process.Group, string) {
	t.Helper()
	pipes := musttest.Get(process.Connect(cmd))(t)
	t.Cleanup(pipes.Close)
	group, err := start(cmd)
	pipes.Started()
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n := musttest.Get(pipes.Stdout.Read(line))(t)
	return group, strings.TrimSpace(string(line[:n]))
}

func script(text string) *exec.Cmd {
	return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", text}}
}

func TestAWillingProgramEndsByItself(t *testing.T) {
	both(t, func(t *testing.T, start starts) {
		group, _ := shell(t, start, script(`trap 'exit 7' TERM; echo ready; sleep 3600 & wait`))
		group.End(time.Hour)
		if ending, _ := group.Wait(); ending.Code != 7 {
			t.Errorf("it ended with %s", ending)
		}
	})
}

func TestAnUnwillingProgramIsKilled(t *testing.T) {
	both(t, func(t *testing.T, start starts) {
		group, _ := shell(t, start, script(`trap '' TERM; echo ready; while :; do sleep 3600; done`))
		group.End(time.Millisecond)
		if ending, _ := group.Wait(); ending.Signal != syscall.SIGKILL {
			t.Errorf("it ended with %s", ending)
		}
		group.Signal(syscall.SIGKILL) // Its number may have been reused, so no process is signalled.
	})
}

// Attributes that were set before stay.
func TestAttributesOfAProgramAreExtended(t *testing.T) {
	cmd := script(`echo ready; read never`)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	before := cmd.SysProcAttr
	group, _ := shell(t, process.Start, cmd)
	if cmd.SysProcAttr != before || !before.Setpgid {
		t.Errorf("the attributes were replaced: %+v", cmd.SysProcAttr)
	}
	group.End(time.Hour)
}

func TestAProgramThatIsNotThereIsNotStarted(t *testing.T) {
	both(t, func(t *testing.T, start starts) {
		const want = "start program: fork/exec /no/such/program: no such file or directory"
		if _, err := start(&exec.Cmd{Path: "/no/such/program", Args: []string{"x"}}); err == nil || err.Error() != want {
			t.Errorf("error %v", err)
		}
	})
}

func TestATailKeepsWholeLinesOfTheEnd(t *testing.T) {
	tests := map[string]struct{ written, want string }{
		"all of a little":   {"a\nb\n", "a\nb"},
		"the last lines":    {strings.Repeat("x", 100) + "\nlast\n", "last"},
		"part of a line":    {strings.Repeat("x", 100), strings.Repeat("x", 10)},
		"no half of a rune": {strings.Repeat("é", 100) + "a", "ééééa"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tail := process.Tail{Limit: 10}
			for _, b := range []byte(test.written) {
				musttest.Get(tail.Write([]byte{b}))(t)
			}
			if got := tail.Text(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
