//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The programs of a stack.
const (
	natsServer = "nats-server"
	scheduler  = "scheduler"
	planner    = "planner"
	runner     = "expert-runner"
)

// patience limits every single wait.
const patience = musttest.Patience

// stack is a server and services, each in a process of its own, in a folder of the test.
type stack struct {
	t      *testing.T
	dir    string
	url    string
	server *process
	// services are all started services, in order; ports are those of their HTTP endpoints.
	services []*process
	others   []*process // Processes that are not ours.
	ports    map[*process]string
	bus      *client.Client
	gates    []*os.File
	more     []string // Variables for services, beside those of env.
}

// empty creates the folder of a stack without processes, and chooses the port of its bus.
func empty(t *testing.T) (s *stack, port string) {
	t.Helper()
	s = &stack{t: t, dir: t.TempDir(), ports: map[*process]string{}}
	for _, dir := range []string{"cards", "gates", "work", "store"} {
		musttest.Do(t, os.Mkdir(filepath.Join(s.dir, dir), 0o700))
	}
	s.write("marks", "")
	port = freePort(t)
	s.url = "nats://127.0.0.1:" + port
	return s, port
}

// bare starts a server alone. limits is text for its jetstream block.
func bare(t *testing.T, limits string) *stack {
	t.Helper()
	s, port := empty(t)
	s.limit(port, limits)
	s.serve(&process{program: natsServer, args: []string{"-c", filepath.Join(s.dir, "nats.conf")}})
	s.cli("init", "--timeout", "30s").wants(t, 0, "")
	s.connect()
	return s
}

// serve starts the process with the bus.
func (s *stack) serve(p *process) {
	s.t.Helper()
	p.t, p.name, p.log = s.t, p.program, filepath.Join(s.dir, p.program+".log")
	s.server = p
	s.t.Cleanup(s.end)
	p.start()
}

func (s *stack) connect() {
	s.t.Helper()
	c := musttest.Get(client.Connect(s.t.Context(), bus.Options{URL: s.url, Name: "test"}))(s.t)
	s.bus = c
}

// limit writes the server's configuration.
func (s *stack) limit(port, limits string) {
	s.write("nats.conf", fmt.Sprintf("listen: 127.0.0.1:%s\njetstream { store_dir: %q\n%s\n}\n", port, filepath.Join(s.dir, "store"), limits))
}

// whole starts a server and one of each service, with the experts Worker and Forker.
func whole(t *testing.T) *stack {
	t.Helper()
	s := bare(t, "")
	s.card("worker", "", "work")
	s.card("forker", "", "fork")
	s.add(scheduler)
	s.add(planner)
	s.add(runner)
	s.ready()
	return s
}

// card writes the card of an expert for the script in testdata; pool may be empty. There is no sandbox, since marks name
// processes by their real pids.
func (s *stack) card(id, pool string, mode ...string) {
	s.t.Helper()
	script := musttest.Get(filepath.Abs(filepath.Join("testdata", "expert.sh")))(s.t)
	text := fmt.Sprintf("---\nname: %s\nkind: command\nsandbox: none\ncommand: [%q, %q]\nenv: {MARKS: %q, GATES: %q, NAME: %q}\n", id, script,
		strings.Join(mode, " "), filepath.Join(s.dir, "marks"), filepath.Join(s.dir, "gates"), id)
	if pool != "" {
		text += "pool: " + pool + "\n"
	}
	s.write(filepath.Join("cards", id+".md"), text+"---\n")
}

func (s *stack) write(name, text string) {
	s.t.Helper()
	musttest.Do(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// add starts one more service. The lease is short, so that work of a killed runner is taken over soon.
func (s *stack) add(program string, args ...string) *process {
	s.t.Helper()
	port := freePort(s.t)
	switch program {
	case scheduler:
		args = append([]string{"--lease", "3s", "--lease-margin", "500ms"}, args...)
	case runner:
		args = append([]string{"--kill-grace", "100ms", "--work-dir", filepath.Join(s.dir, "work")}, args...)
		if !strings.Contains(strings.Join(args, " "), "--experts") {
			args = append(args, "--experts", filepath.Join(s.dir, "cards"))
		}
	}
	name := fmt.Sprintf("%s-%d", program, len(s.services)+1)
	p := &process{
		t: s.t, name: name, program: program, args: args, log: filepath.Join(s.dir, name+".log"),
		env: append(append(s.env(), s.more...), "JOBGRAPH_HTTP_ADDR=127.0.0.1:"+port, "JOBGRAPH_DRAIN_TIMEOUT=5s"),
	}
	s.services = append(s.services, p)
	s.ports[p] = port
	p.start()
	return p
}

func (s *stack) env() []string {
	return []string{"NATS_URL=" + s.url, "HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + s.dir}
}

// ready waits until every running service is ready.
func (s *stack) ready() {
	s.t.Helper()
	for _, p := range s.services {
		if p.alive() {
			until(s.t, p.name+" is ready", patience, func() bool { return s.get(p, "/readyz") == http.StatusOK })
		}
	}
}

// get requests a page of a service and returns the status, 0 for no answer.
func (s *stack) get(p *process, path string) int {
	status, _ := s.page(p, path)
	return status
}

// of returns the processes of a program; "all" returns every process, the server first.
func (s *stack) of(program string) []*process {
	var list []*process
	if program == natsServer || program == "all" {
		list = append(list, s.server)
	}
	for _, p := range s.services {
		if p.program == program || program == "all" {
			list = append(list, p)
		}
	}
	return list
}

// end stops everything in order, the server last.
func (s *stack) end() {
	for _, p := range s.others {
		p.kill()
	}
	for _, p := range s.services {
		p.drain()
	}
	if s.bus != nil {
		s.bus.Close()
	}
	s.server.kill()
	for _, g := range s.gates {
		_ = g.Close() // Only written to.
	}
	for _, p := range slices.Concat(s.services, s.others, []*process{s.server}) {
		p.tell()
	}
}

// cli runs the command line against this stack.
func (s *stack) cli(args ...string) result {
	s.t.Helper()
	return runProgram(s.t, "jobgraph", s.env(), args, "")
}

// wants checks the exit code of a command, and that its output contains a text.
func (r result) wants(t *testing.T, code int, text string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.out+r.err, text) {
		t.Fatalf("exit code %d, want %d and %q in:\n%s%s", r.code, code, text, r.out, r.err)
	}
}

// context returns a context with patience as its timeout.
func (s *stack) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.t.Context(), patience)
}
