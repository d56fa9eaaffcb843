package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// toolsName is the name that makes the test binary a tool server: jobgraph-tools, or one from a configuration.
const toolsName = "jobgraph-tools"

// text has the arguments of the server's tools.
type text struct {
	Text string `json:"text"`
}

// relayed asks the relay on descriptor 3 for an address and returns the answer.
func relayed(ctx context.Context, to string) (string, error) {
	line := os.NewFile(3, "relay")
	conn, err := net.FileConn(line)
	if err != nil {
		return "", err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := http.Client{Transport: &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://relay/?to="+to, strings.NewReader("GET / HTTP/1.0\r\n\r\n"))
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	return fmt.Sprintf("%d %s", answer.StatusCode, said[max(0, len(said)-60):]), err
}

// installed puts the test binary into a folder as a tool server.
func installed(t *testing.T) string {
	t.Helper()
	self := musttest.Get(os.Executable())(t)
	path := filepath.Join(t.TempDir(), toolsName)
	if err := os.Link(self, path); err != nil {
		data, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(path, data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// inTurn is a model that makes these calls one after the other, and answers with all their results.
func inTurn(calls ...llmtest.Call) *llmtest.Server {
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if n := (len(q.Turns) - 2) / 2; n < len(calls) {
			return llmtest.Answer{Calls: calls[n : n+1]}, nil
		}
		var said []string
		for _, turn := range q.Turns {
			if turn.Role == "tool" {
				said = append(said, turn.Text)
			}
		}
		return llmtest.Answer{Text: "<deliverable>" + strings.Join(said, "; ") + "</deliverable>"}, nil
	}))
}

// A runner dies at each boundary of a run in turn. The next runner starts the programs of its tools in a new workspace that has the
// files left by earlier calls, and repeats no finished call.
func TestToolsInTheWorkspaceLeaveTheirFilesToTheNextRunner(t *testing.T) {
	program := installed(t)
	killedInTurn(t, 15, []string{"a", "b"}, func(t *testing.T, marks string) (app.Settings, *llmtest.Server) {
		t.Helper()
		settings := agents(t, card(t, "tools: [sql, edit]\nrun: {write: ["+marks+"]}\n"))
		settings.ToolsProgram = program
		return settings, inTurn(
			llmtest.Call{Name: "sql", Args: `{"text":"` + marks + `/a one"}`}, llmtest.Call{Name: "edit", Args: `{"do":"replace","path":"log","old":"one","new":"one\ntwo"}`},
			llmtest.Call{Name: "sql", Args: `{"text":"` + marks + `/b three"}`},
		)
	}, func(output string) bool {
		return strings.HasPrefix(output, `"one\n; `) && strings.HasSuffix(output, `; one\ntwo\nthree"`)
	})
}

// The programs reach nothing but the workspace. If one breaks, the model gets an error as the answer, and the program is started
// again. A server of the configuration works like ours, under its own name.
func TestToolsInTheWorkspaceReachNothingElse(t *testing.T) {
	w, program := servicetest.New(t), installed(t)
	config := musttest.Temp(t, "jobgraph.yaml", "version: 1\nmcpServers:\n  mine: {command: "+program+", workspace: true}\n")
	settings := agents(t, card(t, "tools: [plot, pdf, mine__plot]\n"))
	settings.ToolsProgram = program
	model := inTurn(llmtest.Call{Name: "pdf", Args: `{"text":""}`}, llmtest.Call{Name: "plot", Args: `{"text":""}`}, llmtest.Call{Name: "mine__plot", Args: `{"text":""}`})
	w.Config = config
	start(w, settings, app.Deps{Doer: model, Sandbox: helper})
	o := work("agent", "j1", "a", 1)
	w.Issue(o)
	got := w.Report(o)
	if said := string(got.Output); got.Outcome != events.Success || !strings.HasPrefix(said, `"Error: MCP server jobgraph-tools broke off`) || !strings.HasSuffix(said, `; reached: ; reached:"`) {
		t.Errorf("report: %+v %s", got, got.Output)
	}
}

// What the browser's program reaches goes through the runner: public addresses, and those that the card allows. The tool is not
// offered if the program cannot be cut off from the network.
func TestABrowserReachesTheWebThroughTheGuard(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the site") })) // The test sees a failure.
	defer site.Close()
	address := strings.TrimPrefix(site.URL, "http://")
	for allowed, want := range map[string]string{"[127.0.0.1]": `"reached: ; 200 `, "[10.0.0.0/8]": `"reached: ; 502 ot a public address: it has to be allowed (allow_addresses)"`} {
		w, program := servicetest.New(t), installed(t)
		settings := agents(t, card(t, "tools: [plot, browser]\nallow_addresses: "+allowed+"\n"))
		settings.ToolsProgram, settings.BrowserProgram = program, program
		model := inTurn(llmtest.Call{Name: "plot", Args: `{"text":""}`}, llmtest.Call{Name: "browser", Args: `{"text":"` + address + `"}`})
		start(w, settings, app.Deps{Doer: model, Sandbox: helper})
		o := work("agent", "j1", "a", 1)
		w.Issue(o)
		got := w.Report(o)
		if tags := strings.Join(onlyCard(t, w).Tags, " "); !strings.Contains(tags, events.SandboxTag+"namespaces") {
			if !strings.Contains(tags, "tools:browser needs the sandbox level namespaces") {
				t.Errorf("tags: %s", tags)
			}
			continue
		}
		if said := string(got.Output); got.Outcome != events.Success || !strings.Contains(said, want) || strings.Contains(said, "the site") != strings.HasPrefix(want, `"reached: ; 200`) {
			t.Errorf("report: %+v %s", got, got.Output)
		}
	}
}

// onlyCard returns the only card in the catalogue.
func onlyCard(t *testing.T, w *servicetest.Env) (card events.Card) {
	t.Helper()
	entries, err := w.Bus.Experts().List(t.Context())
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	musttest.Decode(t, entries[0].Value, &card)
	return card
}

// Tools without their program or a sandbox are not offered, and the card says why.
func TestToolsThatCannotBeHadAreNamedOnTheCard(t *testing.T) {
	old := helper
	old.Old = 5
	program := installed(t)
	for name, c := range map[string]struct {
		program, path string
		sandbox       app.Sandbox
		keys, why     string
	}{
		"program": {"", t.TempDir(), helper, "", "tools:pdf,plot,sql,browser need the program jobgraph-tools, which is neither beside this one nor in "},
		"setting": {program + "x", "", helper, "", "correct --tools-program"},
		"shell":   {program, t.TempDir(), helper, "run: {sandbox: none}\n", `tools:run needs a shell in the path of programs: "sh" is in none of `},
		"sandbox": {program, "", app.Sandbox{}, "", "tools:sql,plot,pdf,browser needs a sandbox: "},
		"kernel":  {program, "", old, "", "tools:sql,plot,pdf,browser needs a sandbox: no sandbox for what a model chooses: level landlock keeps no signals from other processes before Linux 6.12"},
		"level":   {program, "", helper, "run: {sandbox: none}\n", "tools:browser needs the sandbox level namespaces, which keeps the network from Chromium; here it is none: asked for by name"},
		"browser": {program, t.TempDir(), helper, "", "tools:browser needs the headless shell of Chromium, and none of chrome-headless-shell, headless_shell, chromium-headless-shell is there: install it"},
		"chosen":  {program, "/nowhere", helper, "", "tools:browser needs the program /nowhere/chromium, which cannot be read: correct --browser-program"},
	} {
		t.Run(name, func(t *testing.T) {
			w := servicetest.New(t)
			settings := agents(t, card(t, "tools: [find, run, sql, plot, pdf, browser]\ntags: ['tools:mine', other]\n"+c.keys))
			settings.Sandbox, settings.ToolsProgram = "auto", c.program
			if c.path != "" {
				settings.CommandPath = c.path
			}
			switch name {
			case "browser":
			case "chosen":
				settings.BrowserProgram = c.path + "/chromium"
			default:
				settings.BrowserProgram = program
			}
			start(w, settings, app.Deps{Doer: inTurn(), Sandbox: c.sandbox})
			tags := onlyCard(t, w).Tags
			if !slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(tag, c.why) }) || slices.Contains(tags, "tools:mine") || !slices.Contains(tags, "other") {
				t.Errorf("tags: %q", tags)
			}
		})
	}
}
