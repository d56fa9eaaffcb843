package mcp

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// proves C-T10
// proves C34
// proves F-weakness-f-tools
func TestEveryWayToAServer(t *testing.T) {
	for _, way := range []string{"stdio", "http", "sse", "websocket"} {
		t.Run(way, func(t *testing.T) {
			config := program("good")
			listed := func() int32 { return 1 }
			if way != "stdio" {
				s := newServer("good")
				// Count how often tools were listed.
				var n atomic.Int32
				s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
					return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
						if method == "tools/list" {
							n.Add(1)
						}
						return next(ctx, method, r)
					}
				})
				listed = n.Load
				config = serve(t, way, s)
			}
			p := pool(t, config)
			for range 3 { // The list is requested only once.
				if tools, err := p.Open(t.Context(), []string{"x__*", "x__echo"}); err != nil || len(tools) != 10 {
					t.Fatalf("%d tools: %v", len(tools), err)
				}
			}
			echo, fail, set := opened(t, p, "echo"), opened(t, p, "fail"), opened(t, p, "set")
			if echo.Once || set.Once || !fail.Once || echo.Description != "Does echo." || string(echo.Schema) != `{"type":"object"}` {
				t.Errorf("%+v %+v %+v", echo, set, fail)
			}
			for args, want := range map[string]string{"": "{} j/a/1/tool/1/0", `{"n":12345678901234567890}`: `{"n":12345678901234567890} j/a/1/tool/1/0`} {
				if got, err := echo.Call(t.Context(), tool.Call{Args: args, Key: "j/a/1/tool/1/0"}); err != nil || got != want {
					t.Errorf("%q %v", got, err)
				}
			}
			if _, err := fail.Call(t.Context(), tool.Call{}); err == nil || err.Error() != "no such order" || errors.Is(err, expert.ErrUnknown) {
				t.Error(err)
			}
			if got, err := set.Call(t.Context(), tool.Call{}); err != nil || got != "[image image/png, 5 bytes]" {
				t.Errorf("%q %v", got, err)
			}
			if n := listed(); n != 1 {
				t.Errorf("the tools were listed %d times", n)
			}
		})
	}
}

// proves C-T10
func TestConfigurationsAreChecked(t *testing.T) {
	got := map[string]string{}
	for _, f := range Faults("mcpServers", map[string]Server{
		"a":                     {Type: "carrier pigeon", URL: "http://x"},
		"b":                     {},
		"c":                     {Command: "x", URL: "http://x"},
		"d":                     {Type: "sse", Command: "x", URL: "http://x"},
		"e":                     {URL: "ftp://x"},
		"f":                     {URL: "http://u:p@x"},
		"g":                     {Type: "ws", URL: "http://x"},
		"h":                     {Command: "x", Pin: "latest", Timeout: -1},
		"i":                     {Command: "x", Env: map[string]string{"A=B": ""}},
		"j.k":                   {Command: "x"},
		"j k":                   {Command: "x"},
		strings.Repeat("l", 40): {Command: "x"},
		"m":                     {Command: "x", Type: "stdio", Transport: "stdio"},
		"n":                     {URL: "http://x", Workspace: true, Network: true},
		"o":                     {Command: "x", Workspace: true, Cwd: "y"},
		"p":                     {Command: "x", Network: true, Read: []string{"z"}},
		"ok0":                   {Command: "x", Workspace: true, Network: true, Read: []string{"z"}},
		"ok1":                   {URL: "wss://x/y"},
		"ok2":                   {Transport: "streamable-http", URL: "https://x"},
		"ok3":                   {Type: "streamableHttp", URL: "https://x"},
	}) {
		got[f.Field] = f.Message
	}
	want := map[string]string{
		"mcpServers.a.type": `unsupported transport "carrier pigeon"`, "mcpServers.b.url": "there is no url",
		"mcpServers.c.url": "a server over standard input and output has no url", "mcpServers.d.command": "a server behind a url has no command",
		"mcpServers.e.url": "the url has to begin with http:// or https://", "mcpServers.f.url": "the url holds a user or password: use headers",
		"mcpServers.g.url": "the url has to begin with ws:// or wss://", "mcpServers.h.pin": `"latest" is no digest`, "mcpServers.h.timeout": "must not be negative",
		"mcpServers.i.env": "a name has no = and nothing has a zero byte", "mcpServers.j.k": `the tools of "j k" and "j.k" would have the same names`,
		"mcpServers." + strings.Repeat("l", 40): `"` + strings.Repeat("l", 40) + `" cannot begin the names of tools`,
		"mcpServers.m.transport":                "the transport is named twice",
		"mcpServers.n.workspace":                "only a program can run in a workspace", "mcpServers.o.cwd": "a program in a workspace runs in that folder",
		"mcpServers.p.network": "says nothing without workspace", "mcpServers.p.read": "says nothing without workspace",
	}
	musttest.Equal(t, want, got)
}

func TestNamesFitModelsAndAreTold(t *testing.T) {
	long := toolName("x", strings.Repeat("a", 80)+"1")
	if len(long) != maxName || long == toolName("x", strings.Repeat("a", 80)+"2") {
		t.Error(long)
	}
	if got := toolName("my server", "get.user/v1"); got != "my_server__get_user_v1" {
		t.Error(got)
	}
	p := New(map[string]Server{"a": {Command: "x"}, "a__b": {Command: "x"}, "off": {Command: "x", Disabled: true}}, Settings{})
	defer p.Close()
	if p.of("a__b__c").name != "a__b" || p.of("a__c").name != "a" || p.Owns("off__x") || p.Owns("ab") {
		t.Error("patterns are about the wrong servers")
	}
}

// A program gets a clean environment and a separate folder, and works in the folder of the configuration.
func TestTheProgramOfAServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	p := pool(t, program("good"))
	said := musttest.Get(opened(t, p, "env").Call(t.Context(), tool.Call{}))(t)
	lines := strings.Split(said, "\n")
	names := []string{}
	home := ""
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, "=")
		names = append(names, name)
		if name == "HOME" {
			home = value
		}
	}
	want := []string{"HOME", roleKey, "JOBGRAPH_WORKSPACE", "LANG", "PATH", "TMPDIR"}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "PWD" })
	slices.Sort(names)
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" || lines[0] != p.settings.Dir {
		t.Errorf("%s in %s", diff, lines[0])
	}
	p.Close()
	if left, err := filepath.Glob(filepath.Join(p.settings.WorkDir, "*")); err != nil || len(left) > 0 || home == "" {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestNothingOfAServerIsLeft(t *testing.T) {
	p := pool(t, program("good"))
	said := musttest.Get(opened(t, p, "spawn").Call(t.Context(), tool.Call{}))(t)
	p.Close()
	for _, pid := range strings.Fields(said) {
		gone(t, pid)
	}
	if _, err := p.Open(t.Context(), []string{"x__echo"}); err == nil {
		t.Error("a closed pool opens")
	}
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	p := pool(t, program("good"))
	die, echo := opened(t, p, "die"), opened(t, p, "echo")
	_, err := die.Call(t.Context(), tool.Call{})
	if !errors.Is(err, expert.ErrUnknown) || !strings.Contains(err.Error(), "MCP server x broke off") {
		t.Fatal(err)
	}
	if got, err := echo.Call(t.Context(), tool.Call{}); err != nil || !strings.HasPrefix(got, "{}") {
		t.Errorf("%q %v", got, err)
	}
}

func TestACallThatHangsEndsInTimeAndTheServerStays(t *testing.T) {
	config := program("good")
	config.Timeout = 2 * time.Second
	p := pool(t, config)
	hang, spawn := opened(t, p, "hang"), opened(t, p, "spawn")
	before := musttest.Get(spawn.Call(t.Context(), tool.Call{}))(t)
	if _, err := hang.Call(t.Context(), tool.Call{}); !errors.Is(err, expert.ErrUnknown) || !strings.Contains(err.Error(), "within 2s") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := hang.Call(ctx, tool.Call{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	after, err := spawn.Call(t.Context(), tool.Call{})
	if err != nil || strings.Fields(before)[0] != strings.Fields(after)[0] {
		t.Errorf("%s, then %s: %v", before, after, err)
	}
}

func TestAnAnswerThatIsTooLargeEndsTheServer(t *testing.T) {
	for _, way := range []string{"stdio", "http", "sse", "websocket"} {
		t.Run(way, func(t *testing.T) {
			config := program("good")
			if way != "stdio" {
				config = serve(t, way, newServer("good"))
			}
			config.ReplyLimit, config.Timeout = 1<<20, 3*time.Minute // A slow machine takes a while to write 100 MB.
			p := pool(t, config)
			big, echo := opened(t, p, "big"), opened(t, p, "echo")
			args := `{"mb":8}`
			if way == "stdio" {
				args = `{"mb":100}`
			}
			if _, err := big.Call(t.Context(), tool.Call{Args: args}); !errors.Is(err, expert.ErrUnknown) {
				t.Error(err)
			}
			if got, err := echo.Call(t.Context(), tool.Call{}); err != nil || !strings.HasPrefix(got, "{}") {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}

// Whatever a server does instead of initialising, it is reported in time, and nothing of it remains.
//
// proves F-weakness-f-tools
func TestBadServersCannotBeUsed(t *testing.T) {
	for role, want := range map[string]string{
		"garbage": "invalid character", "deaf": errStartTimeout.Error(), "stubborn": errStartTimeout.Error(), "broke": "it says: no licence found",
		"flood": errFlood.Error(), "endless": "exceeded", "many": "more than 512", "twins": `"a.b" and "a/b" would have the same name`, "large": "at most 65536 are taken",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			config := program(role)
			config.StartTimeout = 20 * time.Second
			if role == "flood" {
				config.ReplyLimit = 128 << 10 // Four of them exceed the limit soon, however slowly they are read.
			}
			if want == errStartTimeout.Error() {
				config.StartTimeout = 300 * time.Millisecond
			}
			p := pool(t, config)
			_, err := p.Open(t.Context(), []string{"x__*"})
			var fault *events.Fault
			if !errors.As(err, &fault) || fault.Code != events.CodeUnavailable || fault.Message != "MCP server x cannot be used" || !strings.Contains(fault.Cause, want) {
				t.Errorf("%+v", err)
			}
			if left, err := filepath.Glob(filepath.Join(p.settings.WorkDir, "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestAProgramThatDoesNotExistIsNoMatterForARetryAndIsFoundAsSoonAsItIsThere(t *testing.T) {
	bin := t.TempDir()
	good := program("good")
	p := pool(t, Server{Command: "my-server", Env: map[string]string{"PATH": bin, roleKey: "good"}})
	for range 20 { // If each delayed the next one, the last ones would wait for minutes.
		_, err := p.Open(t.Context(), []string{"x__echo"})
		var fault *events.Fault
		if !errors.As(err, &fault) || fault.Code != events.CodeNotPermitted || fault.Message != "MCP server x cannot be used" {
			t.Fatalf("%+v", err)
		}
		if diff := cmp.Diff([]string{
			`no such program: "my-server" is in none of ` + bin,
			"install the program, or correct mcpServers.x.command, PATH in mcpServers.x.env or --command-path; then `jobgraph retry` runs the SubJob again",
		}, []string{fault.Cause, fault.Hint}); diff != "" {
			t.Fatal(diff)
		}
	}
	musttest.Do(t, os.Symlink(good.Command, filepath.Join(bin, "my-server")))
	if _, err := p.Open(t.Context(), []string{"x__echo"}); err != nil {
		t.Error(err)
	}
}

// proves F-weakness-f-tools
func TestAServerThatHangsAtItsStartHoldsUpNoOther(t *testing.T) {
	slow := program("deaf")
	slow.StartTimeout = time.Minute
	p := New(map[string]Server{"slow": slow, "x": program("good")}, Settings{WorkDir: t.TempDir(), Grace: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(p.Close)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	hangs := make(chan error, 1)
	go func() { // Ends with ctx.
		_, err := p.Open(ctx, []string{"slow__*"})
		hangs <- err
	}()
	for homes := []string(nil); len(homes) == 0 && ctx.Err() == nil; { // It has one as soon as it starts.
		homes, _ = filepath.Glob(filepath.Join(p.settings.WorkDir, "*"))
	}
	if got, err := opened(t, p, "echo").Call(t.Context(), tool.Call{}); err != nil || !strings.HasPrefix(got, "{}") {
		t.Errorf("%q %v", got, err)
	}
	if ctx.Err() != nil {
		t.Error("the other server was waited for")
	}
	stop()
	if err := <-hangs; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStartsAreSharedAndPutOff(t *testing.T) {
	p := pool(t, program("broke"))
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { _, _ = p.Open(t.Context(), []string{"x__a"}) })
	}
	group.Wait()
	s := p.servers["x"]
	s.mu.Lock()
	fails := s.fails
	s.after = time.Now().Add(time.Hour)
	s.mu.Unlock()
	if fails < 1 || fails > 19 {
		t.Errorf("%d starts", fails)
	}
	if _, err := p.Open(t.Context(), []string{"x__a"}); err == nil || !strings.Contains(err.Error(), "is not started again for another 1h0m0s") {
		t.Error(err)
	}
}

func TestAToolThatHasChangedIsNotCalled(t *testing.T) {
	p := pool(t, program("good"))
	pay, change := opened(t, p, "pay"), opened(t, p, "change")
	musttest.Get(change.Call(t.Context(), tool.Call{}))(t)
	deadline := time.Now().Add(musttest.Patience)
	for { // The notification arrives eventually.
		_, err := pay.Call(t.Context(), tool.Call{})
		if err != nil && strings.Contains(err.Error(), "the server has changed the tool x__pay since it was offered: it was not called") {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	now := opened(t, p, "pay")
	if got, err := now.Call(t.Context(), tool.Call{}); err != nil || got != "paid twice" || now.Digest == pay.Digest {
		t.Errorf("%q %v", got, err)
	}
}

func TestAPinHoldsTheListOfTools(t *testing.T) {
	p := pool(t, program("good"))
	found := p.Inventory(t.Context())
	if len(found) != 1 || found[0].Fault != nil || !pinned.MatchString(found[0].Digest) || len(found[0].Tools) != 10 {
		t.Fatalf("%+v", found)
	}
	good := program("good")
	good.Pin = found[0].Digest
	opened(t, pool(t, good), "echo")
	other := program("good")
	other.Pin = "sha256:" + strings.Repeat("0", 64)
	_, err := pool(t, other).Open(t.Context(), []string{"x__echo"})
	var fault *events.Fault
	if !errors.As(err, &fault) || fault.Code != events.CodeConflict || !strings.Contains(fault.Hint, "pin to "+found[0].Digest) {
		t.Errorf("%+v", err)
	}
}

func TestWhatThereIsNotIsTold(t *testing.T) {
	_, err := pool(t, program("good")).Open(t.Context(), []string{"x__ech"})
	var fault *events.Fault
	if !errors.As(err, &fault) || fault.Code != events.CodeNotFound || !strings.Contains(fault.Hint, "x__echo, ") {
		t.Errorf("%+v", err)
	}
}

// The headers of a server are its secrets: they follow no redirect to another host.
func TestAServerLeadsNowhereElse(t *testing.T) {
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Get("Authorization")) }))
	defer other.Close()
	lure := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer lure.Close()
	for _, way := range []string{"http", "sse"} {
		p := pool(t, Server{Type: way, URL: lure.URL, Headers: map[string]string{"Authorization": "Bearer secret"}})
		if _, err := p.Open(t.Context(), []string{"x__a"}); err == nil || !strings.Contains(err.Error(), "which is not where it is") {
			t.Error(err)
		}
	}
	if len(seen) > 0 {
		t.Errorf("it was asked: %v", seen)
	}
}

func TestWhatHasReachedNobodyIsKnown(t *testing.T) {
	s := newServer("good")
	web := httptest.NewUnstartedServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	web.Config.SetKeepAlivesEnabled(false) // The outcome of a request on a connection that may have ended is unknown.
	web.Start()
	p := pool(t, Server{URL: web.URL})
	pay := opened(t, p, "pay")
	web.CloseClientConnections()
	web.Close()
	_, err := pay.Call(t.Context(), tool.Call{})
	if err == nil || errors.Is(err, expert.ErrUnknown) {
		t.Error(err)
	}
}

// The SDK's example servers work unchanged.
func TestServersOfTheSDKsExamples(t *testing.T) {
	for name, want := range map[string][]string{
		"hello":              {"x__greet"},
		"sequentialthinking": {"x__continue_thinking", "x__review_thinking", "x__start_thinking"},
	} {
		t.Run(name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), name)
			path := "github.com/modelcontextprotocol/go-sdk/examples/server/" + name
			out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, path).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			tools := musttest.Get(pool(t, Server{Command: binary}).Open(t.Context(), []string{"x__*"}))(t)
			got := map[string]tool.Tool{}
			for _, one := range tools {
				got[one.Name] = one
			}
			names := slices.Sorted(maps.Keys(got))
			if want == nil {
				want = names
			}
			if diff := cmp.Diff(want, names); diff != "" || len(names) == 0 {
				t.Error(diff)
			}
			if greet, there := got["x__greet"]; there {
				if said, err := greet.Call(t.Context(), tool.Call{Args: `{"name":"Ann"}`}); err != nil || said != "Hi Ann" {
					t.Errorf("%q %v", said, err)
				}
			}
		})
	}
}
