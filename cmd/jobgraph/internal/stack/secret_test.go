package stack_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// roleKey is the variable that makes the test binary an MCP server on standard input and output.
const roleKey = "JOBGRAPH_TEST_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(roleKey) != "" {
		fmt.Fprintln(os.Stderr, "I was given", os.Getenv("API_KEY"))
		_ = echoing(func() string { return os.Getenv("API_KEY") }).Run(context.Background(), &sdk.StdioTransport{})
		return
	}
	os.Exit(m.Run())
}

// secrets are the secrets of the stack, by variable.
var secrets = map[string]string{
	"CMD_TOKEN":    `cmd-"q"/<t0ken>+of=the\program`,
	"HTTP_TOKEN":   "http-t0ken-0123456789abcdef",
	"MCP_TOKEN":    "mcp-t0ken-0123456789-stdio",
	"MCP_HEADER":   "mcp-t0ken-0123456789-http",
	"MCP_OLD":      "mcp-t0ken-0123456789-old-sse",
	"A2A_TOKEN":    "a2a-t0ken-0123456789-desk",
	"MODEL_KEY":    "sk-model-key-0123456789abcdef",
	"MODEL_HEADER": "model-header-0123456789",
}

// echoing is an MCP server whose only tool returns the secrets that it was given, as a result or as an error.
func echoing(given func() string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "v1"}, nil)
	s.AddTool(&sdk.Tool{Name: "echo", Description: "Tells " + given(), InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text := "it is " + given() + ", or " + base64.StdEncoding.EncodeToString([]byte("x"+given())) + " " + strings.Repeat("-", 1900) + given()
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: strings.Contains(string(r.Params.Arguments), "fail")}, nil
		})
	return s
}

// echoingMCP serves the same over HTTP, below /sse with the legacy transport; it returns the headers of its requests.
func echoingMCP(t *testing.T) string {
	get := func(r *http.Request) *sdk.Server {
		given := r.Header.Get("Authorization")
		return echoing(func() string { return given })
	}
	mux := http.NewServeMux()
	mux.Handle("/", sdk.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", sdk.NewSSEHandler(get, nil))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// echoingHTTP answers, or fails, with the headers of its requests.
func echoingHTTP(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		w.Header().Set("X-Given", given)
		if r.URL.Path == "/fails" {
			http.Error(w, strings.Repeat("-", 2030)+given, http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"given": given, "large": strings.Repeat(given+" ", 9000)})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// echoingAgent speaks A2A: its secrets appear in its card, in pieces of its artifact and in its error.
func echoingAgent(t *testing.T) string {
	var at string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		if strings.HasSuffix(r.URL.Path, ".json") {
			_, _ = fmt.Fprintf(w, `{"name":"Desk","description":%q,"version":"1","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, "was given "+given, at+"/call")
			return
		}
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("fails")) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":%q,"data":%q}}`, "no, "+given, strings.Repeat("-", 1990)+given)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		piece := func(text string, more bool) string {
			return fmt.Sprintf(`{"artifactUpdate":{"taskId":"t","append":%v,"artifact":{"artifactId":"a","parts":[{"text":%q}]}}}`, more, text)
		}
		for _, event := range []string{
			`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`,
			fmt.Sprintf(`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":%q}]}}}}`, "with "+given),
			piece("it is "+given[:15], false), piece(given[15:], true),
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		} {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":%s}\n\n", event)
		}
	}))
	t.Cleanup(server.Close)
	at = server.URL
	return at
}

// echoingModel makes an agent call every tool, and puts its secrets into text, reasoning and results, or into an error if asked to
// fail.
func echoingModel(t *testing.T) string {
	server := httptest.NewServer(llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		given := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ") + " " + q.Header.Get("X-Given")
		echo := llmtest.Answer{Text: "I was given " + given, Reasoning: "hm, " + given, Chunk: 3}
		switch all := q.All(); {
		case strings.Contains(all, "fails"):
			return llmtest.Answer{Status: 401, Error: "bad key " + given, Header: map[string]string{"X-Given": given}}, nil
		case strings.Contains(all, "use your tools") && q.Last("tool") == "":
			args := fmt.Sprintf(`{"given":%q}`, given)
			echo.Calls = []llmtest.Call{{Name: "stdio__echo", Args: args}, {Name: "web__echo", Args: args}, {Name: "old__echo", Args: args}, {Name: "web__echo", Args: `{"mood":"fail"}`}}
		case strings.Contains(all, "use your tools"):
			echo.Text += " and told " + q.Last("tool")
		}
		return echo, nil
	})))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// echo is a stack in which every expert is given secrets and repeats them.
type echo struct {
	t     *testing.T
	dir   string
	stack *stack.Stack
	log   *lines
	live  *lines
	bus   *bus.Bus
}

// lines collects the output of several goroutines.
type lines struct {
	mu   sync.Mutex // Guards text.
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

const configuration = `version: 1
models:
  default: {model: m, base_url: "%[1]s", key: "${MODEL_KEY}", retries: 0, headers: {X-Given: "${MODEL_HEADER}"}}
mcpServers:
  stdio: {command: "%[2]s", env: {JOBGRAPH_TEST_ECHO: "1", API_KEY: "${MCP_TOKEN}"}}
  web: {type: http, url: "%[3]s", headers: {Authorization: "Bearer ${MCP_HEADER}"}}
  old: {type: sse, url: "%[3]s/sse", headers: {Authorization: "Bearer ${MCP_OLD}"}}
experts:
  - {name: Agent, kind: llm, tools: [stdio__echo, web__echo, old__echo], prompt: use your tools}
  - {name: Refused, kind: llm, prompt: it fails}
  - {name: Program, kind: command, sandbox: none, command: [sh, -c, %[4]q], env: {TOKEN: "${CMD_TOKEN}"}, artifacts: ["*.txt", "*.bin"]}
  - {name: Broken, kind: command, sandbox: none, command: [sh, -c, %[5]q], env: {TOKEN: "${CMD_TOKEN}"}}
  - {name: Caller, kind: http, url: "%[6]s/", headers: {Authorization: "Bearer ${HTTP_TOKEN}"}}
  - {name: Failing, kind: http, url: "%[6]s/fails", headers: {Authorization: "Bearer ${HTTP_TOKEN}"}}
  - {name: Desk, kind: a2a, a2a: {agent: "%[7]s", headers: {Authorization: "Bearer ${A2A_TOKEN}"}, allow_addresses: [127.0.0.0/8]}}
`

// One program writes its secrets everywhere, the other at the end of the stored part of standard error.
const (
	program = `printf '%s\n' "$TOKEN" | tee out.txt >&2; printf '\000\001%s\002' "$TOKEN" > out.bin; printf 'I have %s\n' "$TOKEN"; env`
	broken  = `i=0; while [ $i -lt 400 ]; do printf '%s' "$TOKEN" >&2; i=$((i+1)); done; exit 3`
)

func start(t *testing.T) *echo {
	t.Helper()
	e := &echo{t: t, dir: t.TempDir(), log: &lines{}, live: &lines{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(e.dir, "jobgraph.yaml")
	text := fmt.Sprintf(configuration, echoingModel(t), self, echoingMCP(t), program, broken, echoingHTTP(t), echoingAgent(t))
	musttest.Do(t, os.WriteFile(config, []byte(text), 0o600))
	e.stack = musttest.Get(stack.Start(t.Context(), stack.Settings{
		Host: host.Settings{Config: config, Prefix: "jobs", HTTPAddr: "127.0.0.1:0", DrainTimeout: 5 * time.Second}, Embed: embed.Settings{Store: filepath.Join(e.dir, "store")},
		Env: func(name string) (string, bool) { value, ok := secrets[name]; return value, ok },
		Log: slog.New(slog.NewJSONHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}))(t)
	if e.bus, err = bus.Connect(t.Context(), e.stack.Options()); err != nil {
		t.Fatal(err)
	}
	stop := musttest.Get(e.bus.SubscribeCore("jobs.live.>", func(subject string, body []byte) {
		var piece struct{ Text string }
		if json.Unmarshal(body, &piece) == nil && piece.Text != "" {
			body = []byte(piece.Text) // Pieces are checked together, as one text.
		}
		_, _ = e.live.Write(body) // This Write never fails.
	}))(t)
	t.Cleanup(stop)
	return e
}

// forms are all forms in which a secret is searched for.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret) // Halves, as truncation leaves them.
	twice, _ := json.Marshal(string(quoted[1 : len(quoted)-1]))
	all := []string{
		secret, string(quoted[1 : len(quoted)-1]), string(twice[1 : len(twice)-1]), url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)),
		secret[:len(secret)/2+6], secret[len(secret)/2-6:], // Halves, as cuts leave them.
	}
	for lead := range 3 {
		raw := append(make([]byte, lead), secret...)
		all = append(all, base64.StdEncoding.EncodeToString(raw[:len(raw)/3*3])[4:])
	}
	return all
}

// clean fails the test for every secret in a text.
func clean(t *testing.T, what string, text []byte) {
	t.Helper()
	for name, secret := range secrets {
		for _, form := range forms(secret) {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				t.Errorf("%s holds %s as %q: …%q…", what, name, form, text[max(0, at-80):min(len(text), at+len(form)+20)])
			}
		}
	}
}

// stored checks every message of every stream, including buckets, and every whole object.
func (e *echo) stored() (messages int) {
	t := e.t
	nc := musttest.Get(nats.Connect("", nats.InProcessServer(e.stack.Server())))(t)
	defer nc.Close()
	js := musttest.Get(jetstream.New(nc))(t)
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		s := musttest.Get(js.Stream(t.Context(), name))(t)
		for seq := s.CachedInfo().State.FirstSeq; seq <= s.CachedInfo().State.LastSeq; seq++ {
			m, err := s.GetMsg(t.Context(), seq)
			if err != nil {
				continue // The message was removed.
			}
			messages++
			clean(t, fmt.Sprintf("%s %d %s", name, seq, m.Subject), slices.Concat([]byte(m.Subject+"\n"+fmt.Sprint(m.Header)+"\n"), m.Data))
		}
		bucket, isObjects := strings.CutPrefix(name, "OBJ_")
		if !isObjects {
			continue
		}
		objects := musttest.Get(js.ObjectStore(t.Context(), bucket))(t)
		list := musttest.Get(objects.List(t.Context()))(t)
		for _, o := range list {
			data := musttest.Get(objects.GetBytes(t.Context(), o.Name))(t)
			clean(t, "object "+o.Name, data)
		}
	}
	if names.Err() != nil {
		t.Fatal(names.Err())
	}
	return messages
}

// Secrets that experts, tools, agents and models repeat are never stored, shown or logged.
func TestNoSecretThatIsEchoedIsKeptToldOrLogged(t *testing.T) {
	e := start(t)
	for _, r := range []events.Request{
		{ID: "agent", Goal: "use your tools", Expert: "agent"},
		{ID: "refused", Goal: "it fails", Expert: "refused"},
		{ID: "program", Goal: "tell", Expert: "program"},
		{ID: "broken", Goal: "tell", Expert: "broken"},
		{ID: "caller", Goal: "call", Expert: "caller"},
		{ID: "failing", Goal: "call", Expert: "failing"},
		{ID: "desk", Goal: "tell", Expert: "desk"},
		{ID: "desk-2", Goal: "it fails", Expert: "desk"},
		{ID: "planned", Goal: "make something of it"},
		{ID: "unplanned", Goal: "planning fails"},
	} {
		none := 0
		r.Limits.Retries, r.Limits.MaxPlanRounds = &none, new(1)
		c := client.New(e.bus)
		musttest.Get(c.Submit(e.t.Context(), r))(e.t)
		end := musttest.Get(c.Wait(e.t.Context(), r.ID))(e.t)
		x := musttest.Get(c.Archive().Export(e.t.Context(), r.ID, time.Now()))(e.t)
		var file bytes.Buffer
		musttest.Do(e.t, x.Write(&file))
		whole := slices.Collect(maps.Values(x.Blobs)) // The export file encodes them.
		clean(e.t, "a blob of "+r.ID, bytes.Join(whole, nil))
		if !bytes.Contains(bytes.Join(append(whole, file.Bytes()), nil), []byte("********")) {
			e.t.Errorf("job %s, which ended so: %+v, repeats nothing: it proves nothing", r.ID, end)
		}
		clean(t, "the export of "+r.ID, file.Bytes())
	}
	if n := e.stored(); n < 50 {
		t.Errorf("only %d messages were looked at", n)
	}
	clean(t, "what was told live", e.live.bytes())
	for _, path := range []string{"/readyz", "/metrics"} {
		answer, err := http.Get(e.stack.HTTP() + path)
		if err != nil {
			t.Fatal(err)
		}
		page := musttest.Get(io.ReadAll(answer.Body))(t)
		_ = answer.Body.Close() // The body has been read.
		clean(t, path, page)
	}
	e.bus.Close()
	if err := e.stack.Stop(); err != nil {
		t.Error(err)
	}
	clean(t, "the log", e.log.bytes())
	files := 0
	err := filepath.WalkDir(filepath.Join(e.dir, "store"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		clean(t, path, text)
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files of the store, %v", files, err)
	}
	if len(e.live.bytes()) == 0 || len(e.log.bytes()) == 0 {
		t.Error("nothing was told live, or nothing logged")
	}
}
