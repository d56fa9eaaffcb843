//go:build browser

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// patience bounds every wait: a machine may be slow, and a hang is an error.
const patience = 90 * time.Second

// token is the start-up token of every gateway of the tests.
const token = "the-token-of-the-browser-tests"

// root is the folder of the repository.
var root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, missing := os.Stat(filepath.Join(dir, "go.work")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
})

// programs builds jobgraph and the runner once, into a folder that TestMain removes.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", "./cmd/jobgraph", "./services/expert-runner")
	build.Dir = root()
	if said, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build: %w\n%s", err, said)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir) // The folder is temporary anyway.
	}
	os.Exit(code)
}

// stack is jobgraph with its bus, planner, scheduler, runner and gateway in one process, on a store that outlives it.
type stack struct {
	testing.TB
	dir  string
	http string // HOST:PORT of the gateway.
	nats string
	up   *exec.Cmd
	said *output
}

// output is what a process writes.
type output struct {
	mu   sync.Mutex // Guards text.
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// free returns an unused address of this machine, with a port that the system does not assign to outgoing connections.
func free(t testing.TB) string {
	t.Helper()
	for range 100 {
		at := fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", at); err == nil {
			_ = l.Close() // It only served to find the port.
			return at
		}
	}
	t.Fatal("no port is free")
	return ""
}

// begin starts a stack with the files of a folder: experts/ and model.yaml.
func begin(t testing.TB, files map[string]string) *stack {
	t.Helper()
	s := &stack{TB: t, dir: t.TempDir(), http: free(t), nats: free(t)}
	for name, text := range files {
		path := filepath.Join(s.dir, name)
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		musttest.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "$DIR", s.dir)), 0o755))
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start starts the process and waits until its gateway is ready.
func (s *stack) start() {
	s.Helper()
	dir := musttest.Get(programs())(s)
	args := []string{"up", "--no-folder", "--store", filepath.Join(s.dir, "store"), "--sync", "default", "--nats", s.nats, "--http", s.http, "--no-input", "--model", "fake:" + filepath.Join(s.dir, "model.yaml")}
	if exists(filepath.Join(s.dir, "experts")) {
		args = append(args, "--experts", filepath.Join(s.dir, "experts"))
	}
	if exists(filepath.Join(s.dir, "jobgraph.yaml")) {
		args = append(args, "--config", filepath.Join(s.dir, "jobgraph.yaml"))
	}
	s.up, s.said = s.run(filepath.Join(dir, "jobgraph"), args...)
	s.until("the gateway is ready", func() bool {
		r, err := http.Get("http://" + s.http + "/readyz")
		if err != nil {
			return false
		}
		_ = r.Body.Close() // Only its status matters.
		return r.StatusCode == http.StatusOK
	}, func() string { return s.said.String() })
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run starts a program of ours.
func (s *stack) run(program string, args ...string) (*exec.Cmd, *output) {
	s.Helper()
	said := &output{}
	c := exec.Command(program, args...)
	c.Dir, c.Stdout, c.Stderr = s.dir, said, said
	c.Env = append(os.Environ(), "NATS_URL=nats://"+s.nats, "JOBGRAPH_START_TOKEN="+token, "JOBGRAPH_LEASE=2s", "JOBGRAPH_LEASE_MARGIN=200ms", "HOME="+s.dir)
	if tokens := filepath.Join(s.dir, "tokens.yaml"); exists(tokens) {
		c.Env = append(c.Env, "JOBGRAPH_TOKENS="+tokens)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	musttest.Do(s, c.Start())
	return c, said
}

// kill ends the process and everything that it has started, at once.
func (s *stack) kill() {
	if s.up == nil {
		return
	}
	end(s.up)
	s.up = nil
}

func end(c *exec.Cmd) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // It may be gone.
	_ = c.Wait()
}

// runner starts a separate runner for the card Travel in a folder of the stack; the caller may kill it.
func (s *stack) runner(cards string) *exec.Cmd {
	s.Helper()
	dir := musttest.Get(programs())(s)
	c, said := s.run(filepath.Join(dir, "expert-runner"), "--experts", filepath.Join(s.dir, cards), "--pools", "far", "--http-addr", "off")
	s.Cleanup(func() {
		if s.Failed() {
			s.Log("runner:", said)
		}
		if c.ProcessState == nil {
			end(c)
		}
	})
	s.until("the runner has announced its expert", func() bool { return strings.Contains(string(s.ask(http.MethodGet, "/experts", nil)), `"Travel"`) }, said.String)
	return c
}

// until waits for a condition of the world outside the browser.
func (s *stack) until(what string, ok func() bool, more ...func() string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			text := ""
			for _, f := range more {
				text += "\n" + f()
			}
			s.Fatalf("not within %s: %s%s", patience, what, text)
		}
	}
}

// open releases steps that wait for a gate: the card "Clerk" ends when the file named by its goal exists.
func (s *stack) open(gates ...string) {
	s.Helper()
	for _, g := range gates {
		musttest.Do(s, os.WriteFile(filepath.Join(s.dir, "gate-"+g), nil, 0o600))
	}
}

// download is the body of an answer.
func (s *stack) download(path string) []byte {
	s.Helper()
	return s.ask(http.MethodGet, path, nil)
}

// api asks the gateway and decodes its answer.
func (s *stack) api(method, path string, body, into any) {
	s.Helper()
	text := s.ask(method, path, body)
	if into == nil {
		return
	}
	musttest.Do(s, json.Unmarshal(text, into))
}

// ask asks the gateway.
func (s *stack) ask(method, path string, body any) []byte {
	s.Helper()
	var send io.Reader
	if body != nil {
		text := musttest.Get(json.Marshal(body))(s)
		send = bytes.NewReader(text)
	}
	r := musttest.Get(http.NewRequest(method, "http://"+s.http+"/api/v1"+path, send))(s)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		s.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
	}
	return text
}
