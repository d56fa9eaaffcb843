package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// helper starts the sandboxes of tests.
var helper app.Sandbox

func TestMain(m *testing.M) {
	helper = app.HookSandbox()
	if filepath.Base(os.Args[0]) == toolsName {
		// Serve tools that work in the current folder.
		server := sdk.NewServer(&sdk.Implementation{Name: "test"}, nil)
		offer := func(name string, call func(context.Context, text) (string, error)) {
			sdk.AddTool(server, &sdk.Tool{Name: name, Description: name}, func(ctx context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
				said, err := call(ctx, in)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said}}}, nil, err
			})
		}
		// The first word names a file outside that counts the calls.
		offer("sql", func(_ context.Context, in text) (string, error) {
			mark, line, _ := strings.Cut(in.Text, " ")
			// Add a line to a file and a mark to another one, and return the content of the file.
			var errs []error
			for _, w := range [][2]string{{mark, "x"}, {"log", line + "\n"}} {
				f, err := os.OpenFile(w[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err == nil {
					_, err = f.WriteString(w[1])
					err = errors.Join(err, f.Close())
				}
				errs = append(errs, err)
			}
			said, err := os.ReadFile("log")
			return string(said), errors.Join(append(errs, err)...)
		})
		offer("plot", func(context.Context, text) (string, error) { // Say what of the outside world the server can reach.
			var all []string
			if _, err := os.ReadFile("/etc/shadow"); err == nil {
				all = append(all, "shadow")
			}
			if l, err := net.Interfaces(); err == nil && len(l) > 1 {
				all = append(all, "interfaces")
			}
			if os.Getenv("PATH") == "" || os.Getenv("OPENAI_API_KEY") != "" {
				all = append(all, "environment")
			}
			dir, err := os.Getwd()
			if dir != os.Getenv("HOME") || err != nil {
				all = append(all, "home")
			}
			return "reached: " + strings.Join(all, " "), nil
		})
		offer("browser", func(ctx context.Context, in text) (string, error) { return relayed(ctx, in.Text) })
		offer("pdf", func(context.Context, text) (string, error) { os.Exit(3); return "", nil })
		_ = server.Run(context.Background(), &sdk.StdioTransport{})
		return
	}
	os.Exit(m.Run())
}

// refused runs a runner whose cards are rejected, and returns the fault.
func refused(t *testing.T, s app.Settings, d app.Deps) string {
	t.Helper()
	process := host.NewProcess(t.Context(), t.Context(), "expert-runner", host.Settings{}, slog.New(slog.DiscardHandler))
	err := app.Run(t.Context(), process, s, d)
	var faults host.Faults
	if !errors.As(err, &faults) || len(faults) != 1 {
		t.Fatalf("error %v", err)
	}
	return faults[0].Error()
}

func TestACommandWithoutASandboxIsRefusedUnlessItIsAllowed(t *testing.T) {
	card := cardFile(t, t.TempDir(), "echo.md", `{name: echo, kind: command, command: [sh, -c, 'echo 7']}`)
	s := commandSettings(t, card)
	s.Sandbox = "auto"
	got := refused(t, s, app.Deps{})
	for _, want := range []string{"echo.md", "sandbox: none", "--sandbox none", "HookSandbox"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	allowed := cardFile(t, t.TempDir(), "echo.md", `{name: echo, kind: command, sandbox: none, command: [sh, -c, 'echo 7']}`)
	s.Experts = []string{allowed}
	w := servicetest.New(t)
	start(w, s, app.Deps{})
	o := work("echo", "j1", "a", 1)
	w.Issue(o)
	if got := w.Report(o); string(got.Output) != "7" {
		t.Errorf("report: %+v", got)
	}
}

// An announced card says which level is in force and why it is not stricter; what its file says about that is ignored.
func TestACardSaysHowItsProgramIsKept(t *testing.T) {
	dir := t.TempDir()
	best := cardFile(t, dir, "best.md", `{name: best, kind: command, tags: [text, 'sandbox:namespaces'], command: [sh, -c, 'echo 7']}`)
	bare := cardFile(t, dir, "bare.md", `{name: bare, kind: command, sandbox: none, command: [sh, -c, 'echo 7']}`)
	s := commandSettings(t, best, bare)
	s.Sandbox = "best-effort"
	w := servicetest.New(t)
	start(w, s, app.Deps{})
	entries := musttest.Get(w.Bus.Experts().List(t.Context()))(t)
	got := map[string][]string{}
	for _, e := range entries {
		var card events.Card
		musttest.Decode(t, e.Value, &card)
		got[card.ID] = card.Tags
	}
	const unhooked = "the program around the runner does not call HookSandbox first in its main"
	want := map[string][]string{
		"best": {"text", "sandbox:none namespaces: " + unhooked + "; landlock: " + unhooked}, "bare": {"sandbox:none asked for by name"},
	}
	musttest.Equal(t, want, got)
}

// The strictest available level is in force; if there is none, the card says so.
func TestCommandsRunInASandboxByDefault(t *testing.T) {
	dir := t.TempDir()
	place(t, filepath.Join(dir, "data", "secret"), "7")
	closed := cardFile(t, dir, "closed.md", `{name: closed, kind: command, command: [sh, -c, 'cat `+dir+`/data/secret']}`)
	open := cardFile(t, dir, "open.md", `{name: open, kind: command, read: [data], command: [sh, -c, 'cat `+dir+`/data/secret']}`)
	s := commandSettings(t, closed, open)
	s.Sandbox = app.Default().Sandbox
	if !app.HasSandbox(helper) {
		if got := refused(t, s, app.Deps{Sandbox: helper}); !strings.Contains(got, "no sandbox at level auto") {
			t.Error(got)
		}
		return
	}
	w := servicetest.New(t)
	start(w, s, app.Deps{Sandbox: helper})
	o := work("closed", "j1", "a", 1)
	w.Issue(o)
	if got := w.Report(o); got.Outcome != events.ExecutionError || !strings.Contains(got.Error.Cause, "Permission denied") {
		t.Errorf("report: %+v %+v", got, got.Error)
	}
	o = work("open", "j1", "b", 1)
	w.Issue(o)
	if got := w.Report(o); string(got.Output) != "7" {
		t.Errorf("report: %+v %+v", got, got.Error)
	}
}

func TestWhatIsWrongWithASandboxIsSaid(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.md": "---\nname: a\nkind: command\ncommand: [sh]\nsandbox: strong\nread: ['']\nlimits: {memory: 5, files: -1}\n---\n",
		"b.md": "---\nname: b\nkind: nats\npool: b\nnetwork: true\n---\n",
	})
	want := []string{
		`a.md:5:10: sandbox: "strong" is no level: use one of auto, best-effort, namespaces, landlock, none`,
		`a.md:6:8: read[0]: "" is no path (name a file or folder, relative to the card)`,
		`a.md:7:18: limits.memory: 5 bytes are too few for any program: at least 67108864`,
		`a.md:7:28: limits.files: must not be negative`,
	}
	musttest.Equal(t, want, faultsIn(t, dir, "a.md"))
	if got := faultsIn(t, dir, "b.md"); len(got) != 1 || !strings.HasPrefix(got[0], "b.md:5:10: network: the keys of kind command are for that kind alone") {
		t.Errorf("got %q", got)
	}
}
