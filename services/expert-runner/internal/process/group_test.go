package process_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell starts a script and gives what it prints as its first line, which it does when it is ready.
func shell(t *testing.T, cmd *exec.Cmd) (*process.Group, string) {
	t.Helper()
	pipes, err := process.Connect(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pipes.Close)
	group, err := process.Start(cmd)
	pipes.Started()
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := pipes.Stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return group, strings.TrimSpace(string(line[:n]))
}

func script(text string) *exec.Cmd {
	return &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", text}}
}

func TestAWillingProgramEndsByItself(t *testing.T) {
	group, _ := shell(t, script(`trap 'exit 7' TERM; echo ready; sleep 3600 & wait`))
	group.End(time.Hour)
	if state, _ := group.Wait(); state.ExitCode() != 7 {
		t.Errorf("it ended with %s", state)
	}
}

func TestAnUnwillingProgramIsKilled(t *testing.T) {
	group, _ := shell(t, script(`trap '' TERM; echo ready; while :; do sleep 3600; done`))
	group.End(time.Millisecond)
	state, _ := group.Wait()
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %s", state)
	}
	group.Signal(syscall.SIGKILL) // Its number may be somebody else's: nobody is reached.
}

// What was asked of the kernel before stays.
func TestAttributesOfAProgramAreExtended(t *testing.T) {
	cmd := script(`echo ready; read never`)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	before := cmd.SysProcAttr
	group, _ := shell(t, cmd)
	if cmd.SysProcAttr != before || !before.Setpgid {
		t.Errorf("the attributes were replaced: %+v", cmd.SysProcAttr)
	}
	group.End(time.Hour)
}

func TestAProgramThatIsNotThereIsNotStarted(t *testing.T) {
	if _, err := process.Start(&exec.Cmd{Path: "/no/such/program", Args: []string{"x"}}); err == nil || !strings.HasPrefix(err.Error(), "start program: ") {
		t.Errorf("error %v", err)
	}
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
				if _, err := tail.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
			}
			if got := tail.Text(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
