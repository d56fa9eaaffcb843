package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// helper is the sandbox helper of stacks in this process.
var helper runner.Sandbox

// scriptsPerProcessor is how many scripts run at once per processor, since they mostly wait for a service.
const scriptsPerProcessor = 3

func TestMain(m *testing.M) {
	helper = runner.HookSandbox()
	if err := flag.Set("test.parallel", strconv.Itoa(scriptsPerProcessor*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // The name of the flag is wrong.
	}
	programs := map[string]func(){"jobgraph": func() {
		system := cli.OS()
		if !printsJSON(system.Args) {
			os.Exit(cli.Main(system))
		}
		var printed bytes.Buffer
		system.Stdout = io.MultiWriter(os.Stdout, &printed)
		code := cli.Main(system)
		if place := beyond(printed.Bytes()); place != "" {
			fmt.Fprintf(os.Stderr, "%q prints a number beyond 2^53: %s\n", system.Args, place)
			code = inexact
		}
		os.Exit(code)
	}, "mcpserver": func() {
		if os.Getenv("MOOD") == "bad" {
			fmt.Fprintln(os.Stdout, "hello!")
		}
		if err := bank(os.Getenv("BOOK")).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	}, "gateway": func() {
		var settings gateway.Settings
		os.Exit(host.Main(host.OS(), host.Program{
			Name: "gateway", About: "serves the HTTP API", HTTPAddr: gateway.DefaultAddr, Declare: settings.Declare,
			Run: func(ctx context.Context, p *host.Process) error { return gateway.Run(ctx, p, settings, gateway.Deps{}) },
		}))
	}}
	if folder := os.Getenv("JOBGRAPH_TEST_PROGRAMS"); folder != "" { // Plain ones for a test under the race detector: see the Makefile.
		programs = nil
		if err := os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, programs)
}

// Scripts run the program as a user does. Beside the usual commands they have
//
//	up [flag…]                  a stack in this process on a free port, which NATS_URL names
//	down                        ends the stack that was started last; with --store another one can go on from there
//	exits CODE arg…             jobgraph with these arguments, which has to exit so
//	state JOB KIND SUBJOB RUN JSON   a fact as some worker or service would state it
//	await JOB STATUS [SUBJOB]   until the log says so; QUARANTINED until the saved state says so
//	awaitdead KIND              until a message of this kind was set aside; $DEAD names it
//	awaitevent JOB KIND SUBJOB [RUN]   until the log has such an event
//	publish SUBJECT BODY|@FILE  as a stranger does
//	model [flag…]               the scripted model on a free port, which OPENAI_BASE_URL names
//	[!] asked [-N] TEXT…        some (no, N) questions to the model contain all of these texts
//	awaitsession ID STATE       until the record of a session says so
//	awaitexpert ID [DESCRIPTION]   until the catalogue has such a card; with ! until it has none
//	awaitunread POOL            until no runner asks for its work any more
//	web                         a service for experts of kind http, which WEB_URL names
//	a2a                         a remote agent of the A2A protocol, which A2A_URL names
//	mcp                         an MCP server on the web, which MCP_URL and MCP_SOCKET name
//	bus                         a bus without services, which NATS_URL names
//	plays PAGE                  each command of a Markdown page, which prints what stands there, apart from times
//	admitted JOB GOAL           job.requested, as a scheduler that is gone has stated it
//
// and $EXAMPLES, the repository's folder of that name.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	if os.Getenv("JOBGRAPH_TEST_PROGRAMS") != "" {
		files = slices.DeleteFunc(files, func(file string) bool {
			text := musttest.Get(os.ReadFile(file))(t)
			return !serving.Match(text)
		})
	}
	runScripts(t, testscript.Params{Files: files})
}

// serving matches the commands of scripts that run a server in the process of the test.
var serving = regexp.MustCompile(`(?m)^(\[[^]]*\] *)?(up|bus|model|web|a2a|mcp)( |$)`)

// runScripts runs the scripts of a folder, or some files.
func runScripts(t *testing.T, p testscript.Params) {
	t.Helper()
	examples := musttest.Get(filepath.Abs(filepath.Join("..", "..", "examples")))(t)
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("TZ", "UTC") // No script depends on this machine's time zone.
		env.Setenv("EXAMPLES", examples)
		env.Setenv("GORACE", os.Getenv("GORACE"))     // Each script ends dozens of programs: see the target race of the Makefile.
		env.Setenv("JOBGRAPH_SANDBOX", "best-effort") // Scripts are about other things than what this machine allows.
		env.Setenv("NATS_URL", "nats://127.0.0.1:1")  // No server listens there: no script meets a bus of this machine.
		return nil
	}
	p.Cmds = map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"up": up, "down": func(ts *testscript.TestScript, neg bool, args []string) {
			found, _ := stacks.Load(ts.Getenv("NATS_URL"))
			stop, runs := found.(func())
			if neg || len(args) != 0 || !runs {
				ts.Fatalf("usage: down, after up")
			}
			stop()
		}, "exits": exits, "bus": bare, "model": model, "asked": asked, "web": web, "a2a": remoteAgent, "mcp": mcpWeb,
		"state":     command("state JOB KIND SUBJOB RUN JSON", state),
		"await":     command("await JOB STATUS [SUBJOB]", await),
		"awaitdead": command("awaitdead KIND", awaitDead),
		"awaitevent": command("awaitevent JOB KIND SUBJOB [RUN]", func(s *script, args []string) {
			for e, err := range s.Watch(s.ctx, args[0], 0) {
				s.Check(err)
				if e.Kind == events.Kind(args[1]) && e.SubJob == args[2] && (len(args) == 3 || strconv.Itoa(e.Run) == args[3]) {
					return
				}
			}
			s.Check(s.ctx.Err())
		}),
		"plays": command("plays PAGE", plays),
		"publish": command("publish SUBJECT BODY|@FILE", func(s *script, args []string) {
			body := args[1]
			if file, ok := strings.CutPrefix(body, "@"); ok {
				body = s.ReadFile(file)
			}
			_, err := s.Bus().Publish(s.ctx, events.Message{Subject: args[0], Body: []byte(body)}, bus.Expect{})
			s.Check(err)
		}),
		"admitted": command("admitted JOB GOAL", func(s *script, args []string) {
			m, err := events.Encode(s.Names(), events.Event{
				Kind: events.KindJobRequested, ID: args[0] + "/test", Job: args[0], Source: "test",
				Data: &events.JobRequested{Request: events.Request{ID: args[0], Goal: args[1]}, Rules: events.Rules{Version: events.RulesVersion}},
			})
			s.Check(err)
			_, err = s.Bus().Publish(s.ctx, m, bus.ExpectNone())
			s.Check(err)
		}),
		"awaitsession": command("awaitsession SESSION STATE", awaitSession),
		"awaitexpert":  command("[!] awaitexpert ID [DESCRIPTION]", awaitExpert),
		"awaitunread":  command("awaitunread POOL", awaitUnread),
		"awaitrun":     command("awaitrun SCHEDULE", awaitRun),
	}
	testscript.Run(t, p)
}

func up(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("up cannot be negated")
	}
	env := &scriptEnv{of: ts, read: map[string]string{}}
	stop, where := startUp(ts, func(name string) (string, bool) {
		env.mu.Lock()
		defer env.mu.Unlock()
		v, known := env.read[name]
		if !known && !env.over {
			v = env.of.Getenv(name)
			env.read[name] = v
		}
		return v, v != ""
	}, args)
	env.close()
	stop = sync.OnceFunc(stop)
	stacks.Store(where, stop)
	ts.Defer(func() {
		stacks.Delete(where)
		stop()
	})
	ts.Setenv("NATS_URL", where)
}

// stacks ends the stacks that scripts have started, by the addresses of their buses.
var stacks sync.Map

// scriptEnv is the environment of programs that a script has started so far; variables that the script sets later are not in it.
type scriptEnv struct {
	of   *testscript.TestScript
	mu   sync.Mutex // Guards the fields below: the script reads nothing while it starts the program.
	read map[string]string
	over bool
}

func (e *scriptEnv) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// fataler is what a script and a test have in common.
type fataler interface {
	Fatalf(format string, args ...any)
}

// startUp runs `up` until stop.
func startUp(t fataler, env host.Env, args []string) (stop func(), where string) {
	signals := make(chan os.Signal, 2)
	out, in := io.Pipe()
	code := make(chan int, 1)
	if !slices.Contains(args, "--store") {
		args = append([]string{"--ephemeral"}, args...)
	}
	sys := cli.System{
		System: host.System{
			Args: append([]string{"up", "--nats", "127.0.0.1:0", "-o", "json", "--http", "off"}, args...), Env: env,
			Stdout: in, Stderr: io.Discard, Signals: signals,
		},
		Stdin: strings.NewReader(""), Now: time.Now, Sandbox: helper,
	}
	go func() {
		code <- cli.Main(sys)
		_ = in.Close()
	}()
	var w struct {
		NATS string `json:"nats"`
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if json.Unmarshal([]byte(said), &w) != nil || w.NATS == "" {
		rest, _ := io.ReadAll(out) // Why it failed; ends with the program.
		t.Fatalf("up says %q: %v (exit %d)", said+string(rest), err, <-code)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // Later output is not needed; ends with the program.
	return func() {
		signals <- syscall.SIGTERM
		if got := <-code; got != 0 {
			t.Fatalf("up ended with %d", got)
		}
	}, w.NATS
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE arg…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec("jobgraph", args[1:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// script is a script with a connection to its stack.
type script struct {
	*testscript.TestScript
	*client.Client
	ctx context.Context // Ends after musttest.Patience.
	neg bool
}

// command makes a script command that talks to the stack. The usage says whether it may be negated and how many arguments it takes;
// those in brackets are optional.
func command(usage string, do func(s *script, args []string)) func(*testscript.TestScript, bool, []string) {
	words, negatable := strings.CutPrefix(usage, "[!] ")
	most := len(strings.Fields(words)) - 1
	least := most - strings.Count(words, "[")
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg && !negatable || len(args) < least || len(args) > most {
			ts.Fatalf("usage: %s", usage)
		}
		ctx, cancel := context.WithTimeout(context.Background(), musttest.Patience)
		defer cancel()
		c, err := client.Connect(ctx, bus.Options{URL: ts.Getenv("NATS_URL")})
		ts.Check(err)
		defer c.Close()
		do(&script{ts, c, ctx, neg}, args)
	}
}

// until waits until a watch has seen something.
func (s *script) until(what string, watch func(seen func()) (stop func(), err error)) {
	seen := make(chan struct{}, 1)
	stop, err := watch(func() {
		select {
		case seen <- struct{}{}:
		default: // Seen before.
		}
	})
	s.Check(err)
	defer stop()
	select {
	case <-seen:
	case <-s.ctx.Done():
		s.Fatalf("it never comes: %s", what)
	}
}

func state(s *script, args []string) {
	run, err := strconv.Atoi(args[3])
	s.Check(err)
	kind := events.Kind(args[1])
	header := map[string][]string{events.HeaderType: {kind.Type()}}
	m := events.Message{Subject: s.Names().RunEvent(args[0], kind, args[2], run), Header: header, Body: []byte(args[4])}
	_, err = s.Bus().Publish(s.ctx, m, bus.Expect{})
	s.Check(err)
}

func await(s *script, args []string) {
	want := events.Status(args[1])
	subjob := ""
	if len(args) == 3 {
		subjob = args[2]
	}
	if want == "QUARANTINED" {
		s.Check(untilQuarantined(s.ctx, s.Client, args[0]))
		return
	}
	s.Check(untilStatus(s.ctx, s.Client, args[0], subjob, want))
	if subjob == "" && (want == events.Waiting || want.Terminal()) { // It stays in this status.
		s.Check(untilSaved(s.ctx, s.Client, args[0], want))
	}
}
