package process

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"golang.org/x/sys/unix"
)

// awaitState waits until a child is in a state: unix.WEXITED or unix.WSTOPPED.
func awaitState(t *testing.T, cmd *exec.Cmd, state int) {
	t.Helper()
	musttest.Do(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, state|unix.WNOWAIT, nil))
}

// begun starts a program that waits for its end, and returns how much it adds to a count of tasks while it does nothing.
func begun(t *testing.T, cmd *exec.Cmd) (n, busy int64) {
	t.Helper()
	before, active, err := CountTasks()
	if err != nil {
		t.Fatal(err)
	}
	in := musttest.Get(cmd.StdinPipe())(t)
	out := musttest.Get(cmd.StdoutPipe())(t)
	musttest.Do(t, cmd.Start())
	defer func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
	}()
	musttest.Get(io.WriteString(in, "x\n"))(t)
	if _, err := io.ReadFull(out, make([]byte, 2)); err != nil { // Now it has its threads.
		t.Fatal(err)
	}
	musttest.Do(t, cmd.Process.Signal(unix.SIGSTOP))
	awaitState(t, cmd, unix.WSTOPPED)
	n, busy, err = CountTasks()
	if err != nil {
		t.Fatal(err)
	}
	return n - before, busy - active
}

func TestTasksAreProcessesAndTheirThreads(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "a) R 1 (b")
	cat, err := os.ReadFile("/bin/cat")
	if err == nil {
		err = os.WriteFile(odd, cat, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/bin/cat", odd} {
		if n, busy := begun(t, exec.Command(name)); n != 1 || busy != 0 {
			t.Errorf("%s counts as %d, %d of them busy", name, n, busy)
		}
	}
	self := musttest.Get(os.Executable())(t)
	echo := exec.Command(self)
	echo.Env = append(os.Environ(), EchoKey+"=1")
	// The kernel says of the first thread alone whether it runs, so each of several may.
	if n, busy := begun(t, echo); n < 2 || busy != n {
		t.Errorf("a program with threads counts as %d, %d of them busy", n, busy)
	}
}

// A process that has ended keeps its number until its parent has waited for it.
func TestAProcessCountsUntilItIsWaitedFor(t *testing.T) {
	cmd := exec.Command("/bin/true")
	musttest.Do(t, cmd.Start())
	awaitState(t, cmd, unix.WEXITED)
	n, busy, err := CountTasks()
	if waited := cmd.Wait(); err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	after, active, err := CountTasks()
	if err != nil || n-after != 1 || busy != active {
		t.Errorf("it counts as %d, %d of them busy: %v", n-after, busy-active, err)
	}
}

// A parent that has ended between two reads leaves its children to another one.
func TestAChainOfParentsIsReadAgainWhenOneHasEnded(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	musttest.Do(t, cmd.Start())
	defer func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
	}()
	const ended = 1 << 30 // No process has a number as large.
	for pid, want := range map[int]bool{cmd.Process.Pid: true, os.Getppid(): false, ended: false} {
		all := map[int]task{}
		for n := range 1000 { // As long as any chain here.
			all[ended+1+n] = task{parent: ended}
		}
		if pid != ended {
			all[pid] = task{parent: ended}
		}
		if got := isBelow(pid, os.Getpid(), all); got != want {
			t.Errorf("%d is below this process: %v", pid, got)
		}
	}
}
