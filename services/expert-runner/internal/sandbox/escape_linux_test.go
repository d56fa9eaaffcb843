package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// outside are the targets of escapes: a folder, a server for each kind of socket, and a process, none of them the program's.
type outside struct {
	Dir     string // With the file "secret" and the empty folder "empty".
	Target  int    // A process with the word "classified" on its command line and in its environment.
	TCP     string
	UDP     string
	TCP6    string
	UDP6    string
	Unix    string // A stream socket by path.
	Gram    string // A datagram socket by path.
	Shared  string // The name of an abstract socket.
	Segment string // The id of a shared memory segment.
}

// args returns the fields in order, for the environment of the program.
func (o *outside) args() string {
	return strings.Join([]string{o.Dir, strconv.Itoa(o.Target), o.TCP, o.UDP, o.TCP6, o.UDP6, o.Unix, o.Gram, o.Shared, o.Segment}, "|")
}

// escapeKey and outsideKey are the variables that make the test binary a program that tries an escape.
const escapeKey, outsideKey = "JOBGRAPH_TEST_ESCAPE", "JOBGRAPH_TEST_OUTSIDE"

// escaped is what the program prints when an attempt succeeded.
const escaped = "escaped"

// say is the program's output.
func say(text string) { _, _ = io.WriteString(os.Stdout, text+"\n") }

// playEscape tries an escape and returns the exit code.
func playEscape(name string) int {
	switch name {
	case leave:
		return leaveBehind(os.Getenv(outsideKey))
	case multiply:
		return multiplied(os.Getenv(outsideKey))
	case pipes:
		return piped()
	case bomb:
		return bombed()
	case behindProc, behindGate:
		return contained(name, os.Getenv(outsideKey))
	case hoard:
		return hoarded(os.Getenv(outsideKey))
	case hoarder:
		return hold(128 << 20)
	}
	attempt := attempts()[name]
	if attempt == nil {
		say("no such attempt")
		return 2
	}
	f := strings.Split(os.Getenv(outsideKey), "|")
	target, _ := strconv.Atoi(f[1]) // Written above.
	if err := attempt(&outside{Dir: f[0], Target: target, TCP: f[2], UDP: f[3], TCP6: f[4], UDP6: f[5], Unix: f[6], Gram: f[7], Shared: f[8], Segment: f[9]}); err != nil {
		say("kept: " + err.Error())
		return 0
	}
	say(escaped)
	return 0
}

// needsMore names attempts that fail even without a sandbox unless the tester has special rights or an old kernel; all others must
// succeed without one, which proves that they are real.
var needsMore = []string{
	"mount a file system", "make a namespace of users", "open a file by its handle", "trace the process", "read memory of the process",
	"take a descriptor of the process", "load a program into the kernel", "read the kernel's log", "use the ring of system calls",
	"make a raw socket", "make a packet socket", "read the roots of the process", "change the root", "join a namespace", "read the environment of the process",
	"make a device", "send an echo request", "write to the kernel's settings", "write to the groups of processes", "write to the system", "read the passwords",
}

// try runs one attempt in a box, in a separate workspace, and returns its output.
func try(t *testing.T, box *sandbox.Box, name, args string) string {
	t.Helper()
	return tryWith(t, box, 400, name, args)
}

// tryWith is try with a maximum number of processes.
func tryWith(t *testing.T, box *sandbox.Box, processes int64, name, args string) string {
	t.Helper()
	self := musttest.Get(os.Executable())(t)
	return output(t, box, processes, &exec.Cmd{Path: self, Args: []string{"escape"}, Env: []string{
		escapeKey + "=" + name, outsideKey + "=" + args, "GORACE=" + os.Getenv("GORACE"),
	}})
}

// output runs a program in a box, in a separate workspace, with a maximum number of processes, and returns its output.
func output(t *testing.T, box *sandbox.Box, processes int64, cmd *exec.Cmd) string {
	t.Helper()
	dir := t.TempDir()
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR="+dir)
	var out bytes.Buffer
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	entry := musttest.Get(box.Wrap(cmd, sandbox.Policy{Write: []string{dir}, Untrusted: true, Limits: sandbox.Limits{Memory: 1 << 30, Total: 512 << 20, Processes: processes}}))(t)
	defer entry.Close()
	group, err := process.Start(cmd)
	entry.Started()
	_ = write.Close()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = group.Wait()
	_ = read.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(&out, read)
	_ = read.Close()
	if _, _, _, err := entry.Ending(); err != nil {
		return "kept: " + err.Error()
	}
	return strings.TrimSpace(out.String())
}

// newOutside sets up the targets of one attempt.
func newOutside(t *testing.T) *outside {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // A short name, since the address of a socket has room for about a hundred bytes.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := &outside{Dir: dir}
	for name, text := range map[string]string{"secret": "classified", "script": "#!/bin/sh\necho classified\n"} {
		musttest.Do(t, os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o700))
	}
	musttest.Do(t, os.Mkdir(filepath.Join(o.Dir, "empty"), 0o700))
	target := exec.Command("/bin/sleep", "3600")
	target.Env = []string{"WORD=classified"}
	musttest.Do(t, target.Start())
	t.Cleanup(func() { _ = target.Process.Kill(); _ = target.Wait() })
	o.Target = target.Process.Pid
	listen := func(network, address string) net.Listener {
		l := musttest.Get(net.Listen(network, address))(t)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	o.TCP = listen("tcp", "127.0.0.1:0").Addr().String()
	o.TCP6 = listen("tcp", "[::1]:0").Addr().String()
	o.Unix = listen("unix", filepath.Join(o.Dir, "s")).Addr().String()
	o.Shared = "jobgraph-escape-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(filepath.Dir(o.Dir)) + filepath.Base(o.Dir)
	listen("unix", "@"+o.Shared)
	udp := musttest.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	udp6 := musttest.Get(net.ListenPacket("udp", "[::1]:0"))(t)
	gram := musttest.Get(net.ListenPacket("unixgram", filepath.Join(o.Dir, "g")))(t)
	t.Cleanup(func() { _ = udp.Close(); _ = udp6.Close(); _ = gram.Close() })
	o.UDP6 = udp6.LocalAddr().String()
	o.UDP, o.Gram = udp.LocalAddr().String(), filepath.Join(o.Dir, "g")
	o.Segment = sharedSegment(t)
	inherit(t, o.secret())
	return o
}

// This is why old kernels are not trusted with what a model chooses: the process outside can be reached.
func TestOldVersionsOfLandlockKeepNoSignals(t *testing.T) {
	old := helper
	old.Old = 5
	box, err := sandbox.NewBoxes(old).Open(sandbox.Landlock)
	if err != nil {
		t.Logf("landlock cannot be tested here: %v", err)
		return
	}
	if got := try(t, box, "kill the process", newOutside(t).args()); got != escaped {
		t.Errorf("got %q", got)
	}
}

// inherited is the descriptor of a file outside that every process of the test inherits, as from a careless parent.
const inherited = 200

func inherit(t *testing.T, path string) {
	t.Helper()
	f := musttest.Get(os.Open(path))(t)
	defer func() { _ = f.Close() }()
	musttest.Do(t, unix.Dup3(int(f.Fd()), inherited, 0))
	t.Cleanup(func() { _ = unix.Close(inherited) })
}

// Root is denied much for lack of capabilities, so its tests also run as a user whose other processes are outside.
func TestNoAttemptOfAUserLeavesTheSandbox(t *testing.T) {
	if os.Geteuid() != 0 {
		return // The test is already running as that user.
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "escape-") // The folder of t.TempDir belongs to root.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self := musttest.Get(os.ReadFile("/proc/self/exe"))(t)
	program := filepath.Join(dir, "escape")
	musttest.Do(t, errors.Join(os.WriteFile(program, self, 0o755), os.Chown(dir, nobody, nobody)))
	cmd := exec.Command(program, "-test.run=^TestNoAttemptLeavesTheSandbox$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", "GORACE=" + os.Getenv("GORACE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNoAttemptLeavesTheSandbox(t *testing.T) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range attempts() {
			if !yield(name) {
				return
			}
		}
	})
	if len(names) < 40 {
		t.Fatalf("only %d attempts", len(names))
	}
	boxes := sandbox.NewBoxes(helper)
	none := musttest.Get(boxes.Open(sandbox.None))(t)
	for _, level := range []sandbox.Level{sandbox.Namespaces, sandbox.Landlock} {
		box, err := boxes.Open(level)
		if err != nil {
			t.Logf("%s cannot be tested here: %v", level, err)
			continue
		}
		for _, name := range names {
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				o := newOutside(t)
				if got := try(t, box, name, o.args()); !strings.HasPrefix(got, "kept: ") {
					t.Errorf("got %q", got)
				}
				// Check for changes that an attempt may have made without noticing.
				text, err := os.ReadFile(filepath.Join(o.Dir, "secret"))
				if err != nil || string(text) != "classified" {
					t.Errorf("the file is %q, %v", text, err)
				}
				info, err := os.Stat(filepath.Join(o.Dir, "secret"))
				if err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("the mode is %v, %v", info, err)
				}
				entries, err := os.ReadDir(o.Dir)
				if err != nil || len(entries) != 5 {
					t.Errorf("the folder holds %v, %v", entries, err)
				}
				if !alive(o.Target) {
					t.Error("the process was ended")
				}
			})
		}
	}
	for _, name := range names {
		t.Run("none/"+name, func(t *testing.T) {
			prevents := machinePrevents[name] != nil && machinePrevents[name](t)
			if got := try(t, none, name, newOutside(t).args()); (got == escaped) == prevents && !slices.Contains(needsMore, name) {
				t.Errorf("the attempt proves nothing: without a sandbox it ends with %q, and that the machine prevents it is %v", got, prevents)
			}
		})
	}
}

// machinePrevents tells of some attempts whether this machine prevents them for every program.
var machinePrevents = map[string]func(t *testing.T) bool{
	"gain rights by a program": func(t *testing.T) bool {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nNoNewPrivs:\t1\n")
	},
	"write to shared memory": func(*testing.T) bool { return unix.Access("/dev/shm", unix.W_OK) != nil },
}

// atLevels runs a test at each level that this machine has.
func atLevels(t *testing.T, test func(t *testing.T, level sandbox.Level, box *sandbox.Box)) {
	t.Helper()
	boxes := sandbox.NewBoxes(helper)
	for _, level := range []sandbox.Level{sandbox.Namespaces, sandbox.Landlock, sandbox.None} {
		box, err := boxes.Open(level)
		if err != nil {
			t.Logf("%s cannot be tested here: %v", level, err)
			continue
		}
		t.Run(string(level), func(t *testing.T) { test(t, level, box) })
	}
}

// A process that leaves its program's group, session and environment ends with the program.
func TestNothingOutlivesItsProgram(t *testing.T) {
	atLevels(t, func(t *testing.T, level sandbox.Level, box *sandbox.Box) {
		// The duration names the process.
		duration := fmt.Sprintf("3600.%d%d", len(level), os.Getpid())
		try(t, box, leave, duration)
		left := processesWith(duration)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if level == sandbox.None {
			if len(left) == 0 {
				t.Error("the program proves nothing: without a sandbox nothing is left behind")
			}
			return
		}
		if len(left) != 0 {
			t.Errorf("processes %v are left", left)
		}
	})
}

// leave is the program that leaves a process behind.
const leave = "leave a process behind"

// leaveBehind starts a process in a separate session, without the environment of the run, that sleeps for a duration.
func leaveBehind(duration string) int {
	cmd := exec.Command("/bin/sleep", duration)
	cmd.Env, cmd.SysProcAttr = []string{}, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 1
	}
	return 0
}

// processesWith finds the processes with an argument.
func processesWith(argument string) (found []int) {
	lists, _ := filepath.Glob("/proc/[0-9]*/cmdline") // The pattern is well-formed.
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "\x00"+argument+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
