package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// multiply is the program that starts more processes than it may.
const multiply = "multiply"

// TestAProgramCannotMultiply runs as the user of the tests, who may be root, whom the kernel's limit does not bind.
func TestAProgramCannotMultiply(t *testing.T) {
	atLevels(t, func(t *testing.T, level sandbox.Level, box *sandbox.Box) {
		got := try(t, box, multiply, string(level))
		if (level == sandbox.None) != (got == escaped) {
			t.Errorf("got %q", got)
		}
	})
}

// An old machine cannot ask before a fork; there the processes of root are counted at intervals.
func TestAProgramCannotMultiplyOnAnOldMachine(t *testing.T) {
	old := helper
	old.Old = 6
	box, err := sandbox.NewBoxes(old).Open(sandbox.Landlock)
	if err != nil {
		t.Logf("landlock cannot be tested here: %v", err)
		return
	}
	got := try(t, box, multiply, string(sandbox.Landlock))
	if got == escaped || os.Geteuid() == 0 && got != "the program was ended: it had more than 400 processes" {
		t.Errorf("got %q", got)
	}
}

// wanted is how many processes the program tries to start, more than any limit of the tests.
const wanted = 450

// multiplied starts processes until one cannot be started, and ends them all. At a level with a sandbox it waits for them once all
// were started: if the sandbox is to end it, that is soon.
func multiplied(level string) int {
	var all []*exec.Cmd
	defer func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	for range wanted {
		cmd := exec.Command("/bin/sleep", "60")
		if err := cmd.Start(); err != nil {
			say("kept: " + err.Error())
			return 0
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if level == string(sandbox.None) {
			break
		}
		_ = cmd.Wait()
	}
	say(escaped)
	return 0
}

// pipes is a program in which children end while others are started.
const pipes = "pipes"

// piped runs a shell, which handles SIGCHLD, and prints how many rounds it got through.
func piped() int {
	script := "i=0; while [ $i -lt 200 ]; do true | true | true; x=$(true | cat); i=$((i+1)); echo $i; done"
	out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		say("kept: " + err.Error())
	}
	lines := strings.Fields(string(out))
	say(lines[len(lines)-1])
	return 0
}

// A fork that waits for the gate could be interrupted by a signal, as no other fork can.
func TestAShellStartsProcessesWhileOthersEnd(t *testing.T) {
	atLevels(t, func(t *testing.T, _ sandbox.Level, box *sandbox.Box) {
		if got := tryWith(t, box, 200, pipes, ""); got != "200" {
			t.Errorf("the shell ended with %q", got)
		}
	})
}

// bomb is the program whose processes all start further ones, as fast as they can.
const bomb = "bomb"

// TestABombOfForksIsBounded has processes that live until they are killed: their number is that of all that were ever started.
func TestABombOfForksIsBounded(t *testing.T) {
	atLevels(t, func(t *testing.T, level sandbox.Level, box *sandbox.Box) {
		for _, most := range []int64{60, 320} {
			got := tryWith(t, box, most, bomb, "")
			n, err := strconv.ParseInt(got, 10, 64)
			if level == sandbox.None {
				if err != nil || n != mostForks {
					t.Errorf("the program proves nothing: without a sandbox it ends with %q", got)
				}
				return
			}
			t.Logf("with a limit of %d: %d", most, n)
			// Other processes of a user count at level landlock, so that there may be no room for the program.
			if n > 2*most || os.Geteuid() == 0 && (err != nil || n < most/2) {
				t.Errorf("got %q with a limit of %d", got, most)
			}
		}
	})
}

// mostForks is how many processes the bomb starts without a sandbox.
const mostForks = 700

// counts are in memory that all processes of the bomb share.
type counts struct {
	born    atomic.Int64 // Processes that were started.
	forking atomic.Int64 // Of these, and the first one, those that still try.
}

// bombed prints how many processes could be started, once none of them can start another one.
func bombed() int {
	memory, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	if err != nil {
		return 1
	}
	c := (*counts)(unsafe.Pointer(&memory[0]))
	var over [2]int
	if err := unix.Pipe(over[:]); err != nil {
		return 1
	}
	c.forking.Store(1)
	if pid := fork(); pid < 0 {
		return 1
	} else if pid == 0 {
		explode(c, over[1])
	}
	if _, err := unix.Read(over[0], make([]byte, 1)); err != nil {
		return 1
	}
	say(strconv.FormatInt(c.born.Load(), 10))
	_ = unix.Kill(0, unix.SIGKILL) // Without a sandbox nothing else ends them.
	return 0
}

// explode starts processes that do the same, until none can be started. It makes no calls of the Go runtime, which does not survive a
// fork, and does not return.
func explode(c *counts, over int) {
	for {
		c.forking.Add(1)
		if c.born.Add(1) > mostForks {
			break
		}
		switch pid := fork(); {
		case pid > 0:
			continue
		case pid == 0:
			continue
		}
		break
	}
	c.born.Add(-1)
	if c.forking.Add(-2) == 0 { // The one that could not be started, and this one.
		word := byte('x')
		_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(over), uintptr(unsafe.Pointer(&word)), 1)
	}
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

// A program without threads, whose processes exist when it starts the next one, gets as many as it may have, itself included.
func TestALimitOfProcessesIsExactForOneAfterTheOther(t *testing.T) {
	script := fmt.Sprintf("n=0; while [ $n -lt %d ]; do sleep 60 & n=$((n+1)); echo started; done; kill -9 0", wanted)
	atLevels(t, func(t *testing.T, level sandbox.Level, box *sandbox.Box) {
		started := func(processes int64) (n int, out string) {
			out = output(t, box, processes, &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", script}})
			return strings.Count(out, "started"), out
		}
		if n, out := started(0); n != wanted {
			t.Errorf("without a limit: %q", out)
		}
		if level == sandbox.None {
			return
		}
		const most = 60
		// Other processes of a user count at level landlock.
		if n, out := started(most); n >= most || os.Geteuid() == 0 && n != most-1 {
			t.Errorf("%d were started with a limit of %d: %q", n, most, out)
		}
	})
}

// fork returns 0 in the new process, and -1 if there is none.
func fork() int {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return -1
	}
	return int(pid)
}

// behindProc is the program that hides a part of /proc, as containers do, and becomes a test; behindGate also asks before each fork.
const behindProc, behindGate = "behind proc", "behind a gate"

// Where a part of /proc is hidden, the kernel lets no sandbox have its own: limits are kept by what the container's /proc shows.
func TestLimitsAreKeptWhereAPartOfProcIsHidden(t *testing.T) {
	inContainer(t, behindProc, "^(TestAProgramCannotMultiply|TestABombOfForksIsBounded|TestProcessesCannotHaveMoreMemoryTogether)$/^namespaces$", nil)
}

// A process has one listener of seccomp at most. In a container that has one, the sandbox has no gate, and counts.
func TestLimitsAreKeptInAContainerWithAListener(t *testing.T) {
	ends := musttest.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	theirs := os.NewFile(uintptr(ends[1]), "gate")
	var allowed sync.WaitGroup
	allowed.Go(func() { // Ends with the container.
		if err := sandbox.AllowForks(ends[0]); err != nil {
			t.Logf("gates cannot be tested here: %v", err)
		}
	})
	inContainer(t, behindGate, "^TestAProgramCannotMultiply$/^(namespaces|landlock)$", theirs)
	allowed.Wait()
	_ = unix.Close(ends[0])
}

// inContainer runs tests in a container; gate is its end of a connection to the process that it asks, nil for none.
func inContainer(t *testing.T, program, tests string, gate *os.File) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	cmd := exec.Command(self)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), escapeKey+"="+program, outsideKey+"="+tests)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	if gate != nil {
		cmd.ExtraFiles = []*os.File{gate, gate, gate} // The last one is descriptor 5, as in the helper of a sandbox.
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Start()
	if gate != nil {
		_ = gate.Close()
	}
	if err != nil {
		t.Logf("namespaces cannot be tested here: %v", err)
		return
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &out)
	} else if !strings.Contains(out.String(), "PASS") {
		t.Errorf("no test has run: %s", &out)
	}
}

func coverProc(tests string) error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err = errors.Join(err, unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, "")); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, escapeKey+"=") || strings.HasPrefix(s, outsideKey+"=")
	})
	return unix.Exec(self, []string{self, "-test.v", "-test.run=" + tests}, env)
}

// contained hides a part of /proc, and becomes the tests.
func contained(program, tests string) int {
	runtime.LockOSThread()
	if program == behindGate {
		if err := sandbox.AskBeforeForks(); err != nil {
			say("PASS without a gate: " + err.Error())
			return 0
		}
	}
	say(fmt.Sprintf("become the test: %v", coverProc(tests)))
	return 1
}

// hoard is the program whose processes together exceed their memory; hoarder is one of them.
const hoard, hoarder = "hoard", "hoarder"

// TestProcessesCannotHaveMoreMemoryTogether starts processes that each have little memory.
func TestProcessesCannotHaveMoreMemoryTogether(t *testing.T) {
	atLevels(t, func(t *testing.T, level sandbox.Level, box *sandbox.Box) {
		got := try(t, box, hoard, string(level))
		if level == sandbox.None && got != escaped || level != sandbox.None && got != "the program was ended: its processes had more than 536870912 bytes of memory together" {
			t.Errorf("got %q", got)
		}
	})
}

// hoarded starts processes with 640 MiB in total. At a level with a sandbox it waits for them once all have it: if the sandbox is to
// end it, that is soon.
func hoarded(level string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	read, write, err := os.Pipe()
	if err != nil {
		return 1
	}
	var all []*exec.Cmd
	for range 5 {
		cmd := exec.Command(self)
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), escapeKey+"="+hoarder), []*os.File{write}
		if err := cmd.Start(); err != nil {
			say("kept: " + err.Error())
			return 1
		}
		all = append(all, cmd)
	}
	if _, err := io.ReadFull(read, make([]byte, len(all))); err != nil {
		return 1
	}
	for _, cmd := range all {
		if level == string(sandbox.None) {
			_ = cmd.Process.Kill()
			continue
		}
		if cmd.Wait() != nil {
			return 1
		}
	}
	say(escaped)
	return 0
}

// hold uses memory, says so, and waits for its end.
func hold(size int) int {
	data := make([]byte, size)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	if _, err := os.NewFile(3, "ready").Write(data[4096:4097]); err != nil {
		return 1
	}
	<-time.After(time.Minute)
	return int(data[4096]) - 1
}
