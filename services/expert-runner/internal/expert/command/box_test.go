package command_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// roleKey is the variable that makes the test binary a program of a test.
const roleKey = "JOBGRAPH_TEST_ROLE"

// play is a program that cannot be written in shell.
func play(role string) int {
	what, argument, _ := strings.Cut(role, " ")
	switch what {
	case "run":
		return playRunner(strings.Fields(argument))
	case "connect":
		conn, err := net.Dial("tcp", argument)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = conn.Close()
	case "open":
		for n := range 1000 {
			if _, err := os.Open(os.DevNull); err != nil {
				fmt.Fprintln(os.Stdout, n)
				return 0
			}
		}
	}
	return 0
}

// inBoxes runs a test at each level that this machine supports. An unsupported level must be reported as such.
func inBoxes(t *testing.T, test func(t *testing.T, box *sandbox.Box)) {
	t.Helper()
	boxes := sandbox.NewBoxes(helper)
	for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Namespaces} {
		t.Run(string(level), func(t *testing.T) {
			box, err := boxes.Open(level)
			if err == nil {
				test(t, box)
				return
			}
			if text := err.Error(); !strings.Contains(text, "sandbox: none") || !strings.Contains(text, string(level)) {
				t.Errorf("the refusal does not help: %s", text)
			}
		})
	}
}

// run runs this binary in a role.
func run(t *testing.T, c command.Config, role string) *events.SubJobReported {
	t.Helper()
	self := musttest.Get(os.Executable())(t)
	c.Argv, c.Env, c.Workspaces, c.Keeper = []string{self}, map[string]string{roleKey: role}, t.TempDir(), keeper
	x := musttest.Get(command.New(c))(t)
	return x.Run(t.Context(), task()).Report
}

// denied checks that a program failed because it lacked a permission.
func denied(t *testing.T, got *events.SubJobReported) {
	t.Helper()
	if got.Outcome != events.ExecutionError || got.Error.Code != events.CodeExecution || !strings.Contains(got.Error.Hint, "at sandbox level") {
		t.Errorf("got %+v %+v", got, got.Error)
	}
	for _, evidence := range []string{"permission denied", "read-only file system", "no such file"} {
		if strings.Contains(strings.ToLower(got.Error.Cause), evidence) {
			return
		}
	}
	t.Errorf("the evidence is %q", got.Error.Cause)
}

func TestFilesOfOthersAreOutOfReach(t *testing.T) {
	t.Setenv("SECRET", "of the runner")
	dir := t.TempDir()
	musttest.Write(t, filepath.Join(dir, "shadow"), "root:secret")
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		for name, script := range map[string]string{
			"a file":                      `cat ` + dir + `/shadow`,
			"its folder":                  `ls ` + dir,
			"by a link":                   `ln -s ` + dir + `/shadow link && cat link`,
			"a new file":                  `echo x >` + dir + `/new`,
			"the one that is there":       `: >` + dir + `/shadow`,
			"the runner's environment":    `cat /proc/` + strconv.Itoa(os.Getpid()) + `/environ`,
			"another one's home":          `ls /root`,
			"what the system keeps apart": `cat /etc/shadow`,
		} {
			t.Run(name, func(t *testing.T) { denied(t, shell(t.Context(), t, command.Config{Box: box}, task(), script)) })
		}
		if text, err := os.ReadFile(filepath.Join(dir, "shadow")); err != nil || string(text) != "root:secret" {
			t.Errorf("the file is %q, %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
			t.Error("a file was written outside")
		}
	})
}

func TestWhatTheCardAllowsIsInReach(t *testing.T) {
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		dir := t.TempDir()
		musttest.Write(t, filepath.Join(dir, "data"), "7")
		read := command.Config{Box: box, Policy: sandbox.Policy{Read: []string{dir}}}
		if got := shell(t.Context(), t, read, task(), `cat `+dir+`/data`); string(got.Output) != "7" {
			t.Errorf("got %+v %+v", got, got.Error)
		}
		denied(t, shell(t.Context(), t, read, task(), `echo 8 >`+dir+`/data`))
		write := command.Config{Box: box, Policy: sandbox.Policy{Write: []string{dir}}}
		if got := shell(t.Context(), t, write, task(), `echo 8 >`+dir+`/data; cat `+dir+`/data`); string(got.Output) != "8" {
			t.Errorf("got %+v %+v", got, got.Error)
		}
		own := `echo 9 >"$TMPDIR/x" && mv "$TMPDIR/x" y && mkdir z && mv y z && cat z/y </dev/null 2>/dev/null`
		if got := shell(t.Context(), t, command.Config{Box: box}, task(), own); string(got.Output) != "9" {
			t.Errorf("got %+v %+v", got, got.Error)
		}
	})
}

func TestThereIsNoNetworkUnlessTheCardSaysSo(t *testing.T) {
	listener := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		role := "connect " + listener.Addr().String()
		if got := run(t, command.Config{Box: box}, role); got.Outcome != events.ExecutionError || !strings.Contains(got.Error.Cause, "dial tcp") {
			t.Errorf("got %+v %+v", got, got.Error)
		}
		if got := run(t, command.Config{Box: box, Policy: sandbox.Policy{Network: true}}, role); got.Outcome != events.Success {
			t.Errorf("got %+v %+v", got, got.Error)
		}
	})
}

func TestAProgramHasNoRightsOfAnAdministrator(t *testing.T) {
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		got := shell(t.Context(), t, command.Config{Box: box}, task(), `grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status | tr -d '\n\t'`)
		if want := `"CapPrm:0000000000000000CapEff:0000000000000000NoNewPrivs:1"`; string(got.Output) != want {
			t.Errorf("got %s %+v", got.Output, got.Error)
		}
	})
}

func TestLimitsAreInForce(t *testing.T) {
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		c := command.Config{Box: box, Policy: sandbox.Policy{Limits: sandbox.Limits{
			CPU: 90 * time.Second, Memory: 256 << 20, Files: 64, FileSize: 1 << 20, Processes: 4000,
		}}}
		got := shell(t.Context(), t, c, task(), `grep -E "Max (cpu time|data size|open files|file size|processes|core file size)" /proc/self/limits | tr -s " " ,`)
		for _, want := range []string{"cpu,time,90,91,", "data,size,268435456,268435456,", "open,files,64,64,", "file,size,1048576,1048576,", "processes,4000,4000,", "core,file,size,0,0,"} {
			if !strings.Contains(string(got.Output), "Max,"+want) {
				t.Errorf("no %s in %s %+v", want, got.Output, got.Error)
			}
		}
		got = run(t, command.Config{Box: box, Policy: sandbox.Policy{Limits: sandbox.Limits{Files: 64}}}, "open")
		if n, err := strconv.Atoi(string(got.Output)); err != nil || n > 61 || n < 10 {
			t.Errorf("got %s %+v", got.Output, got.Error)
		}
	})
}

func TestALimitThatWasPassedIsNamed(t *testing.T) {
	tests := map[string]struct {
		limits sandbox.Limits
		script string
		code   events.Code
		want   string
	}{
		"a large file":           {sandbox.Limits{FileSize: 1 << 20}, `echo evidence >&2; exec head -c 3000000 /dev/zero >big`, events.CodeTooLarge, "a file of the program became larger than 1048576 bytes"},
		"one of a child":         {sandbox.Limits{FileSize: 1 << 20}, `echo evidence >&2; head -c 3000000 /dev/zero >big; exit $?`, events.CodeTooLarge, "a file of the program became larger than 1048576 bytes"},
		"processors":             {sandbox.Limits{CPU: time.Second}, `echo evidence >&2; while :; do :; done`, events.CodeBudget, "the program took more than 1s on processors"},
		"many files":             {sandbox.Limits{Workspace: 1 << 20}, `echo evidence >&2; for i in 1 2 3 4 5 6 7 8; do head -c 200000 /dev/zero >$i; done`, events.CodeTooLarge, "the workspace of the program held more than 1048576 bytes"},
		"many files for a while": {sandbox.Limits{Workspace: 1 << 20}, `echo evidence >&2; for i in 1 2 3 4 5 6 7 8; do head -c 200000 /dev/zero >$i; done; sleep 20; rm ?`, events.CodeTooLarge, "the workspace of the program held more than 1048576 bytes"},
	}
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				got := shell(t.Context(), t, command.Config{Box: box, Policy: sandbox.Policy{Limits: test.limits}}, task(), test.script)
				if got.Outcome != events.ExecutionError || got.Error.Code != test.code || got.Error.Message != test.want || !strings.Contains(got.Error.Cause, "evidence") || got.Error.Hint == "" {
					t.Errorf("got %+v", got.Error)
				}
			})
		}
	})
}

// A remaining process would report after a while.
func TestAForkingProgramLeavesNobody(t *testing.T) {
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		scripts := map[string]string{
			"one that ends":       `for i in 1 2 3 4 5 6 7 8 9 10; do (trap '' TERM; sleep 20; echo late) >D/pipe 2>/dev/null & done; echo up >D/pipe; echo 1`,
			"one that never does": `trap '' TERM; for i in 1 2 3 4 5 6 7 8 9 10; do (trap '' TERM; sleep 20; echo late) >D/pipe 2>/dev/null & done; echo up >D/pipe; while :; do wait; done`,
		}
		for name, clean := range map[string]string{"one whose children leave the group": "", "one whose children also forget their environment": "env -i "} {
			scripts[name] = `for i in 1 2 3 4 5 6 7 8 9 10; do ` + clean + `setsid sh -c "trap '' TERM; sleep 20; echo late" >D/pipe 2>/dev/null & done; echo up >D/pipe; echo 1`
		}
		for name, script := range scripts {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				musttest.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
				pipe := musttest.Get(os.OpenFile(filepath.Join(dir, "pipe"), os.O_RDWR, 0))(t)
				defer func() { _ = pipe.Close() }()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan struct{})
				go func() {
					defer close(done)
					c := command.Config{Box: box, Grace: 50 * time.Millisecond, Policy: sandbox.Policy{Write: []string{dir}}}
					shell(ctx, t, c, task(), strings.ReplaceAll(script, "D/", dir+"/"))
				}()
				up := make([]byte, 3)
				if _, err := io.ReadFull(pipe, up); err != nil || string(up) != "up\n" {
					t.Fatalf("read %q, %v", up, err)
				}
				cancel()
				<-done
				rest := musttest.Get(os.OpenFile(filepath.Join(dir, "pipe"), os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
				defer func() { _ = rest.Close() }()
				_ = pipe.Close() // From here on only the program's processes write.
				if left, err := io.ReadAll(rest); err != nil || len(left) > 0 {
					t.Errorf("somebody is left and says %q, %v", left, err)
				}
			})
		}
	})
}
