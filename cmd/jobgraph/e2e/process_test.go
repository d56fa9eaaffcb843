//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// programs is the folder of the binaries, which TestMain builds once.
var programs string

// given are the ports that tests of this process use.
var given sync.Map

// sources are the programs and where they are built from, relative to this package.
var sources = []struct{ dir, pkg string }{
	{"..", "."},
	{"..", "github.com/nats-io/nats-server/v2"},
	{"../../../services/planner", "."},
	{"../../../services/scheduler", "."},
	{"../../../services/expert-runner", "."},
	{"../../../services/gateway", "."},
	{"../../../tools/jobgraph-tools", "."},
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "nats" {
		if err := natsCommand(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "nats:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func build(m *testing.M) (code int, err error) {
	programs, err = os.MkdirTemp("", "jobgraph-e2e-")
	if err != nil {
		return 1, fmt.Errorf("make folder for programs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	for _, s := range sources {
		c := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", programs+"/", s.pkg)
		c.Dir = s.dir
		if out, err := c.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s in %s: %w\n%s", s.pkg, s.dir, err, out)
		}
	}
	return m.Run(), nil
}

// process is a program that can be killed and restarted with the same arguments. A test owns it.
type process struct {
	t       *testing.T
	name    string
	program string // One of the programs built here; path is that of any other.
	path    string
	args    []string
	env     []string
	log     string // The path of its output file.
	group   bool   // It leads its own process group, which is ended with it.
	cmd     *exec.Cmd
	ended   chan struct{} // Closed when it has ended.
}

// start starts the program; it ends with the test at the latest.
func (p *process) start() {
	p.t.Helper()
	out := musttest.Get(os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(p.t)
	path := p.path
	if path == "" {
		path = filepath.Join(programs, p.program)
	}
	cmd := exec.CommandContext(context.Background(), path, p.args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: p.group}
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, out, out
	musttest.Do(p.t, cmd.Start())
	ended := make(chan struct{})
	go func() { // Ends with the process.
		_ = cmd.Wait() // ProcessState contains how it ended.
		_ = out.Close()
		close(ended)
	}()
	p.cmd, p.ended = cmd, ended
}

// kill sends SIGKILL.
func (p *process) kill() {
	id := p.cmd.Process.Pid
	if p.group {
		id = -id
	}
	_ = syscall.Kill(id, syscall.SIGKILL) // It may have ended by itself.
	<-p.ended
}

// drain asks the program to end, and expects a normal end.
func (p *process) drain() {
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // It may have ended meanwhile.
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Errorf("%s does not end on SIGTERM", p.name)
		p.kill()
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s ended with exit code %d (%s)", p.name, code, p.cmd.ProcessState)
	}
}

// alive reports whether it is running.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// tell prints the end of a process's output if its test failed.
func (p *process) tell() {
	text, err := os.ReadFile(p.log)
	if err != nil || !p.t.Failed() {
		return
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) > 25 {
		lines = lines[len(lines)-25:]
	}
	p.t.Logf("%s said:\n%s", p.name, bytes.Join(lines, []byte("\n")))
}

// freePort returns an unused port below the range of ephemeral ports, so that no connection takes it while the program that
// listens on it is restarted, nor does another test, which may run at the same time.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		if _, is := given.LoadOrStore(port, true); is {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		musttest.Do(t, l.Close())
		return port
	}
	t.Fatal("no port is free")
	return ""
}

// until polls, and fails if the condition does not hold in time.
func until(t *testing.T, what string, within time.Duration, f func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); !f(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// runProgram runs a short program to its end.
func runProgram(t *testing.T, program string, env, args []string, stdin string) result {
	t.Helper()
	return runWithin(t, patience, program, env, args, stdin)
}

// runWithin runs a program to its end.
func runWithin(t *testing.T, within time.Duration, program string, env, args []string, stdin string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(programs, program), args...)
	var out, errs bytes.Buffer
	c.Env, c.Stdin, c.Stdout, c.Stderr = env, strings.NewReader(stdin), &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return result{out: out.String(), err: errs.String(), code: c.ProcessState.ExitCode()}
}

// pause suspends the process, as if its machine hung; wake resumes it.
func (p *process) pause() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) } // The test fails later if it has ended.
func (p *process) wake()  { _ = p.cmd.Process.Signal(syscall.SIGCONT) }
