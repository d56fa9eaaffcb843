//go:build linux

package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// neglected is the claim of a run that is never renewed.
type neglected struct{}

func (neglected) Confirm(ctx context.Context) error { return ctx.Err() }

func (neglected) Renewed(func()) (stop func()) { return func() {} }

// playRunner runs a script as an expert and prints its report, until its standard input ends.
func playRunner(arguments []string) int {
	level, dir := sandbox.Level(arguments[0]), arguments[1]
	after, err := time.ParseDuration(arguments[2])
	if err != nil {
		return 2
	}
	box, err := sandbox.NewBoxes(helper).Open(level)
	if err != nil {
		return 3
	}
	keeper := process.NewKeeper(helper.Keeps(), after)
	for range 2 {
		x, err := command.New(command.Config{
			Argv: []string{"/bin/sh", dir + "/script"}, Workspaces: dir, Box: box, Policy: sandbox.Policy{Write: []string{dir}}, Keeper: keeper,
		})
		if err != nil {
			return 4
		}
		in := task()
		in.Claim = neglected{}
		_ = json.NewEncoder(os.Stdout).Encode(x.Run(context.Background(), in).Report) // The test notices missing output.
		_, _ = os.Stdin.Read(make([]byte, 1))                                         // It continues with the next one, or at the end of the input.
	}
	keeper.Close()
	return 0
}

// stubborn is a program with a child in its group and another one in a separate session, whose parent has ended; both ignore the
// signals that can be ignored. All of them hold a pipe. %s precedes the second child.
const stubborn = `trap '' TERM HUP INT
exec 3>%s
(setsid %s /bin/sh -c 'trap "" TERM HUP INT; sleep 600; :' &)
(sleep 600; :) &
echo up >&3
sleep 600; :
`

// bed is a runner in a separate process, with a program that holds a pipe.
type bed struct {
	dir     string
	runner  *exec.Cmd
	reports *bufio.Reader
	next    io.WriteCloser
	pipe    *os.File
}

// lay starts a runner at a level, and waits until its program runs.
func lay(t *testing.T, level sandbox.Level, script string, after time.Duration) *bed {
	t.Helper()
	b := &bed{dir: t.TempDir()}
	musttest.Write(t, b.dir+"/script", strings.Replace(script, "%s", b.dir+"/pipe", 1))
	musttest.Do(t, syscall.Mkfifo(b.dir+"/pipe", 0o600))
	b.runner = exec.Command(os.Args[0])
	b.runner.Env = append(os.Environ(), fmt.Sprintf("%s=run %s %s %s", roleKey, level, b.dir, after))
	out, err := b.runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if b.next, err = b.runner.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	b.reports = bufio.NewReader(out)
	musttest.Do(t, b.runner.Start())
	t.Cleanup(func() { b.kill() })
	b.up(t)
	return b
}

// up waits until the program runs; from then on only the program has the pipe.
func (b *bed) up(t *testing.T) {
	t.Helper()
	ours, err := os.OpenFile(b.dir+"/pipe", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	if b.pipe, err = os.OpenFile(b.dir+"/pipe", os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.pipe.Close() })
	text := make([]byte, 3)
	if _, err := io.ReadFull(b.pipe, text); err != nil || string(text) != "up\n" {
		t.Fatalf("read %q, %v", text, err)
	}
}

// gone waits until no process has the pipe.
func (b *bed) gone(t *testing.T) {
	t.Helper()
	if left, err := io.ReadAll(b.pipe); err != nil || len(left) > 0 {
		t.Errorf("read %q, %v", left, err)
	}
}

func (b *bed) kill() {
	_ = b.runner.Process.Kill() // It may be dead.
	_ = b.runner.Wait()
}

// keeper returns the process that keeps the runner's programs.
func (b *bed) keeper(t *testing.T) *os.Process {
	t.Helper()
	lists := musttest.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", b.runner.Process.Pid)))(t)
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if line, _ := os.ReadFile("/proc/" + field + "/cmdline"); bytes.HasPrefix(line, []byte("jobgraph-keeper\x00")) {
				pid, _ := strconv.Atoi(field)
				return musttest.Get(os.FindProcess(pid))(t)
			}
		}
	}
	t.Fatal("the runner has no keeper")
	return nil
}

func (b *bed) report(t *testing.T) events.SubJobReported {
	t.Helper()
	var r events.SubJobReported
	line, err := b.reports.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// atAllLevels runs a test with and without sandboxes.
func atAllLevels(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	t.Helper()
	t.Run("none", func(t *testing.T) { test(t, sandbox.None) })
	inBoxes(t, func(t *testing.T, box *sandbox.Box) { test(t, box.Level()) })
}

func send(t *testing.T, p *os.Process, s syscall.Signal) {
	t.Helper()
	musttest.Do(t, p.Signal(s))
}

// The programs include a process that has left its group, has lost its parent and has no environment.
func TestProgramsEndWhenTheirRunnerDies(t *testing.T) {
	atAllLevels(t, func(t *testing.T, level sandbox.Level) {
		b := lay(t, level, strings.Replace(stubborn, "setsid %s", "setsid env -i", 1), time.Hour)
		b.kill()
		b.gone(t)
	})
}

func TestProgramsEndWhenTheirRunnerStandsStillForTooLong(t *testing.T) {
	atAllLevels(t, func(t *testing.T, level sandbox.Level) {
		b := lay(t, level, strings.Replace(stubborn, "setsid %s", "setsid", 1), 2*time.Second)
		send(t, b.runner.Process, syscall.SIGSTOP)
		b.gone(t)
		send(t, b.runner.Process, syscall.SIGCONT)
		if got := b.report(t); got.Outcome != events.ExecutionError || got.Error.Cause != process.Orphaned {
			t.Errorf("got %+v %+v", got, got.Error)
		}
	})
}

// Processes that a finished program left behind are ended as well.
func TestARunnerThatLosesItsKeeperEndsItsProgramsAndGetsAnother(t *testing.T) {
	atAllLevels(t, func(t *testing.T, level sandbox.Level) {
		b := lay(t, level, strings.Replace(stubborn, "setsid %s", "setsid", 1), time.Hour)
		first := b.keeper(t)
		send(t, first, syscall.SIGKILL)
		b.gone(t)
		if got := b.report(t); got.Outcome != events.ExecutionError || got.Error.Cause != process.Unkept {
			t.Errorf("got %+v %+v", got, got.Error)
		}
		musttest.Get(b.next.Write([]byte("\n")))(t)
		b.up(t)
		if second := b.keeper(t); second.Pid == first.Pid {
			t.Error("there is no other keeper")
		}
		b.kill()
		b.gone(t)
	})
}

// The program itself always dies with both. A process that has left it dies at level namespaces; otherwise the next runner ends it.
func TestTwoDeathsInARowLeaveNothingToTheNextRunner(t *testing.T) {
	atAllLevels(t, func(t *testing.T, level sandbox.Level) {
		b := lay(t, level, strings.Replace(stubborn, "setsid %s", "setsid", 1), time.Hour)
		keeper := b.keeper(t)
		send(t, keeper, syscall.SIGSTOP) // It does not notice that the runner dies.
		b.kill()
		send(t, keeper, syscall.SIGKILL)
		if level != sandbox.Namespaces {
			if removed, err := workspace.Sweep(b.dir); err != nil || len(removed) != 1 {
				t.Errorf("removed %v, %v", removed, err)
			}
		}
		b.gone(t)
	})
}

func TestWhoLeavesTheGroupEndsWithTheProgram(t *testing.T) {
	for name, script := range map[string]string{
		"that succeeds": "echo up >&3\n",
		"that fails":    "echo up >&3\nexit 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := &bed{dir: t.TempDir()}
			musttest.Do(t, syscall.Mkfifo(b.dir+"/pipe", 0o600))
			done := make(chan struct{})
			go func() {
				defer close(done)
				shell(t.Context(), t, command.Config{}, task(), "exec 3>"+b.dir+"/pipe\n(setsid sleep 600 >/dev/null 2>&1 &)\n"+script)
			}()
			b.up(t)
			<-done
			b.gone(t)
		})
	}
}
