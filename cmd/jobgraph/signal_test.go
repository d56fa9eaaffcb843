package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// output collects what a program in this process prints.
type output struct {
	mu    sync.Mutex // Guards text and wrote.
	text  bytes.Buffer
	wrote chan struct{} // Closed at the next write, when there is a waiter.
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wrote != nil {
		close(o.wrote)
		o.wrote = nil
	}
	return o.text.Write(p)
}

// until waits for texts in the output, one behind the other.
func (o *output) until(ctx context.Context, parts ...string) error {
	for {
		o.mu.Lock()
		if inOrder(o.text.String(), parts) {
			o.mu.Unlock()
			return nil
		}
		if o.wrote == nil {
			o.wrote = make(chan struct{})
		}
		wrote := o.wrote
		o.mu.Unlock()
		select {
		case <-wrote:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, behind, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = behind
	}
	return true
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// program is a run of jobgraph in this process.
type program struct {
	stdout, stderr output
	signals        chan os.Signal
	code           chan int
}

func launch(env host.Env, size func() (int, int, bool), args ...string) *program {
	p := &program{signals: make(chan os.Signal, 2), code: make(chan int, 1)}
	sys := cli.System{
		System: host.System{Args: args, Env: env, Stdout: &p.stdout, Stderr: &p.stderr, Signals: p.signals},
		Stdin:  strings.NewReader(""), Now: time.Now, Size: size, Sandbox: helper,
	}
	go func() { p.code <- cli.Main(sys) }() // Ends with the program; every test reads the code.
	return p
}

// holding is a folder with a job that runs until it is stopped, and its card.
func holding(t *testing.T) (job, experts string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"job.json":        `{"goal":"hold","plan":{"subjobs":[{"id":"hold","goal":"for ever","expert":"Holder"}]}}`,
		"experts/hold.md": "---\nname: Holder\ndescription: Runs for ever\nkind: command\nsandbox: best-effort\ncommand: [\"/bin/sh\", \"-c\", \"tail -f /dev/null\"]\n---\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return filepath.Join(dir, "job.json"), filepath.Join(dir, "experts")
}

// world is a stack with a client, and an environment that names it.
func world(t *testing.T, experts string) (*client.Client, host.Env) {
	t.Helper()
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "NATS_URL": "nats://127.0.0.1:1"}
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	stop, where := startUp(t, env, []string{"--experts", experts})
	t.Cleanup(stop)
	vars["NATS_URL"] = where
	c := musttest.Get(client.Connect(t.Context(), bus.Options{URL: where}))(t)
	t.Cleanup(c.Close)
	return c, env
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// proves F-weakness-issue-2468
// proves V29
func TestAnInterruptLeavesTheJobRunningAndPrintsItsID(t *testing.T) {
	job, experts := holding(t)
	c, env := world(t, experts)
	p := launch(env, nil, "run", "-f", job, "--id", "j1")
	musttest.Do(t, untilStatus(bounded(t), c, "j1", "hold", events.Running))
	p.signals <- syscall.SIGINT
	if code := <-p.code; code != cli.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if !strings.HasSuffix(p.stdout.String(), "j1\n") || !strings.Contains(p.stderr.String(), "jobgraph watch j1") {
		t.Errorf("stdout %q, stderr %q", p.stdout.String(), p.stderr.String())
	}
	saved := launch(env, nil, "stop", "j1")
	if code := <-saved.code; code != 0 {
		t.Errorf("the job was not running any more: stop exits %d, %s", code, saved.stderr.String())
	}
}

func TestAnInterruptStopsTheJobWhenAsked(t *testing.T) {
	job, experts := holding(t)
	c, env := world(t, experts)
	p := launch(env, nil, "run", "-f", job, "--id", "j1", "--stop-on-interrupt")
	musttest.Do(t, untilStatus(bounded(t), c, "j1", "hold", events.Running))
	p.signals <- syscall.SIGINT
	if code := <-p.code; code != cli.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if err := untilStatus(bounded(t), c, "j1", "", events.Stopped); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptEndsAnEmbeddedRunAndItsCommand(t *testing.T) {
	job, _ := holding(t)
	home := t.TempDir()
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": home, "NATS_URL": "nats://127.0.0.1:1"}[name]
		return v, ok
	}
	p := launch(env, nil, "run", "--store", t.TempDir(), "-f", job, "-o", "jsonl")
	if err := p.stdout.until(bounded(t), `"running"`); err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	p.signals <- syscall.SIGINT
	if code := <-p.code; code != cli.ExitInterrupted { // The command would wait for ever.
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

func TestTheAllInOneEndsWorkThatOutlastsItsDrain(t *testing.T) {
	_, experts := holding(t)
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "JOBGRAPH_DRAIN_TIMEOUT": "10ms"}
	p := launch(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, nil,
		"up", "--ephemeral", "--nats", "127.0.0.1:0", "--http", "off", "--experts", experts, "-o", "json")
	c := reach(t, p)
	plan := json.RawMessage(`{"subjobs":[{"id":"hold","goal":"for ever","expert":"Holder"}]}`)
	musttest.Get(c.Submit(t.Context(), events.Request{ID: "j1", Goal: "hold", Plan: plan}))(t)
	musttest.Do(t, untilStatus(bounded(t), c, "j1", "hold", events.Running))
	p.signals <- syscall.SIGTERM
	if code := <-p.code; code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// A file in place of a folder has the effect of a full disk, as in the tests of package embed.
func TestTheAllInOneEndsWithAStoreThatCannotBeWritten(t *testing.T) {
	home, store := t.TempDir(), t.TempDir()
	vars := map[string]string{"HOME": home}
	p := launch(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, nil,
		"up", "--store", store, "--nats", "127.0.0.1:0", "--http", "off", "-o", "json")
	c := reach(t, p)
	messages := filepath.Join(store, "jetstream", "$G", "streams", c.Names().Intake, "msgs")
	musttest.Do(t, errors.Join(os.RemoveAll(messages), os.WriteFile(messages, nil, 0o600)))
	for range 20 {
		c.Bus().PublishAsync(events.Message{Subject: c.Names().Request(), Body: make([]byte, bus.MaxMessage)}, bus.Expect{})
	}
	if code := <-p.code; code != cli.ExitUnavailable {
		t.Errorf("exit code %d", code)
	}
	for _, part := range []string{"the store " + store + " cannot be written", "start again: nothing that was accepted is lost"} {
		if !strings.Contains(p.stderr.String(), part) {
			t.Errorf("no %q in %q", part, p.stderr.String())
		}
	}
}

// reach returns a client of an up that was started with -o json.
func reach(t *testing.T, p *program) *client.Client {
	t.Helper()
	var where struct {
		NATS string `json:"nats"`
	}
	if err := p.stdout.until(bounded(t), "\n"); err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	musttest.Do(t, json.Unmarshal([]byte(p.stdout.String()), &where))
	c := musttest.Get(client.Connect(t.Context(), bus.Options{URL: where.NATS}))(t)
	t.Cleanup(c.Close)
	return c
}

func TestATerminalShowsATreeThatIsRedrawn(t *testing.T) {
	job, experts := holding(t)
	c, env := world(t, experts)
	size := func() (int, int, bool) { return 100, 30, true }
	p := launch(env, size, "run", "-f", job, "--id", "j1")
	musttest.Do(t, untilStatus(bounded(t), c, "j1", "hold", events.Running))
	musttest.Do(t, p.stdout.until(bounded(t), "hold"))
	if code := <-launch(env, nil, "fail", "j1", "--reason", "enough").code; code != 0 {
		t.Fatalf("fail exits %d", code)
	}
	if code := <-p.code; code != cli.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, part := range []string{"FAILED", "hold", "holder", "\x1b[J"} {
		if !strings.Contains(p.stdout.String(), part) {
			t.Errorf("no %q in %q", part, p.stdout.String())
		}
	}
}
