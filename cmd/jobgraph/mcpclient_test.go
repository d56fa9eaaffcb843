package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// countPlan asks a person in a form how many boxes there are, and returns the answer.
const countPlan = `{"subjobs":[{"id":"count","goal":"Count the boxes in the hall","expert":"Counter","output_schema":` +
	`{"type":"object","required":["boxes"],"properties":{"boxes":{"type":"integer","minimum":0}}}}]}`

// counting starts a stack with an expert that counts and experts from further cards; it returns the address of the bus.
func counting(t *testing.T, more ...string) string {
	t.Helper()
	folder := t.TempDir()
	for i, card := range append(more, "---\nname: Counter\nkind: human\n---\nGo and look.\n") {
		musttest.Do(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.md", i)), []byte(card), 0o600))
	}
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort"}
	stop, where := startUp(t, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, []string{"--experts", folder})
	t.Cleanup(stop)
	return where
}

// child prepares a command of this program as a separate process.
func child(t *testing.T, name, bus string, args ...string) *exec.Cmd {
	t.Helper()
	self := musttest.Get(os.Executable())(t)
	if folder := os.Getenv("JOBGRAPH_TEST_PROGRAMS"); folder != "" {
		self = filepath.Join(folder, name)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Args[0] = name
	c.Env = append(os.Environ(), "JOBGRAPH_TEST_PROGRAMS=", "NATS_URL="+bus, "USER=ann", "HOME="+t.TempDir(), "JOBGRAPH_START_TOKEN=a-start-token-of-length")
	return c
}

// seven is the answer that there are seven boxes.
var seven = map[string]any{"boxes": 7}

// sdkClient is a client whose person says the same to each question. Each question is sent to asked, and progress to moved while
// it has room.
func sdkClient(said map[string]any, asked, moved chan<- string) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			text, err := json.Marshal(r.Params)
			asked <- string(text)
			return &sdk.ElicitResult{Action: "accept", Content: said}, err
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			select {
			case moved <- r.Params.Message:
			default:
			}
		},
	})
}

// tool calls a tool and returns its text.
func tool(t *testing.T, c *sdk.ClientSession, name string, args map[string]any) string {
	t.Helper()
	p := &sdk.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken("p")
	out, err := c.CallTool(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := json.Marshal(out.StructuredContent)
	if err != nil || out.IsError {
		t.Fatalf("%s: %s %v", name, text, out.Content)
	}
	return string(text)
}

// A chat program runs a job over standard input and output: it submits, follows the progress, puts the job's question to the
// person, and gets the result.
// proves O17
func TestAnMCPClientRunsAJobOverStandardInput(t *testing.T) {
	t.Parallel()
	program := child(t, "jobgraph", counting(t), "mcp")
	asked, moved := make(chan string, 9), make(chan string, 1)
	c := musttest.Get(sdkClient(seven, asked, moved).Connect(t.Context(), &sdk.CommandTransport{Command: program}, nil))(t)
	tool(t, c, "submit", map[string]any{"id": "boxes", "goal": "How many boxes are there?", "plan": json.RawMessage(countPlan)})
	end := tool(t, c, "wait", map[string]any{"id": "boxes", "timeout": "1h"})
	if !strings.Contains(end, `"status":"FINISHED"`) || !strings.Contains(end, `{"boxes":7}`) || len(asked) != 1 {
		t.Fatalf("%s after asking %d times", end, len(asked))
	}
	if question := <-asked; !strings.Contains(question, "Count the boxes in the hall") {
		t.Errorf("asked %s", question)
	}
	events, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "jobgraph://jobs/boxes/events"})
	if err != nil || !strings.Contains(events.Contents[0].Text, `"by":"ann"`) {
		t.Errorf("%+v, %v", events, err)
	}
	forked := tool(t, c, "fork", map[string]any{"id": "boxes", "new_id": "again"})
	if !strings.Contains(forked, `"job_id":"again"`) {
		t.Error(forked)
	}
	tool(t, c, "wait", map[string]any{"id": "again", "timeout": "1h"})
	if d := tool(t, c, "diff", map[string]any{"id": "boxes", "with": "again"}); !strings.Contains(d, `"plan":`) {
		t.Error(d)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(moved) == 0 { // Progress may be handled after the result that follows it, but only before the end of the session.
		t.Error("no progress was told")
	}
}

// atGateway starts a gateway as a process, with further variables, and returns its address.
func atGateway(t *testing.T, bus string, vars ...string) (kill func(), url string) {
	t.Helper()
	c := child(t, "gateway", bus, "--http-addr", "127.0.0.1:0", "--log-format", "json")
	c.Env = append(c.Env, vars...)
	logs := musttest.Get(c.StderrPipe())(t)
	musttest.Do(t, c.Start())
	lines := bufio.NewScanner(logs)
	for url == "" && lines.Scan() {
		var line struct {
			HTTP, Msg string
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.HTTP != "" {
			url = "http://" + line.HTTP + "/mcp"
		}
	}
	go func() { // Ends with the process.
		for lines.Scan() {
		}
	}()
	kill = func() { _, _ = c.Process.Kill(), c.Wait() } // The exit code is that of a killed process.
	t.Cleanup(kill)
	if url == "" {
		t.Fatal("the gateway said no address")
	}
	for status := 0; status != http.StatusOK; {
		answer, err := http.Get(strings.TrimSuffix(url, "mcp") + "readyz")
		if err != nil {
			t.Fatal(err)
		}
		status = answer.StatusCode
		_ = answer.Body.Close() // The body is not needed.
	}
	return kill, url
}

// holder sends a token of the gateway.
type holder string

// starter sends the start-up token.
const starter holder = "a-start-token-of-length"

// RoundTrip implements http.RoundTripper.
func (h holder) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(h))
	return http.DefaultTransport.RoundTrip(r)
}

// task is a task object of the MCP tasks extension.
type task struct {
	sdk.ResultBase
	Status   string          `json:"status"`
	Requests map[string]any  `json:"inputRequests"`
	Result   json.RawMessage `json:"result"`
}

// taskParams names a task.
type taskParams struct {
	sdk.ParamsBase
	ID        string         `json:"taskId"`
	Responses map[string]any `json:"inputResponses,omitempty"`
}

// tasker connects a client that supports tasks to a gateway.
func tasker(t *testing.T, url string) (get func(method string, p *taskParams) *task, c *sdk.ClientSession) {
	t.Helper()
	can := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}}
	can.AddExtension("io.modelcontextprotocol/tasks", nil)
	client := sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, &sdk.ClientOptions{Capabilities: can})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		musttest.Do(t, sdk.AddSendingCustomMethod[*taskParams, *task](client, method))
	}
	c = musttest.Get(client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: starter}, MaxRetries: -1}, nil))(t)
	t.Cleanup(func() { _ = c.Close() }) // Its gateway may be dead.
	return func(method string, p *taskParams) *task {
		t.Helper()
		got, err := sdk.CallCustomMethod[*taskParams, *task](t.Context(), c, method, p)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return got
	}, c
}

// A task survives the death of its gateway: another one knows it, accepts the person's answer, and returns the result. The
// same holds for a wait.
func TestATaskSurvivesTheDeathOfItsGateway(t *testing.T) {
	t.Parallel()
	bus := counting(t)
	kill, url := atGateway(t, bus)
	_, c := tasker(t, url)
	for _, id := range []string{"first", "second"} {
		tool(t, c, "submit", map[string]any{"id": id, "goal": "How many boxes are there?", "plan": json.RawMessage(countPlan)})
	}
	musttest.Get(c.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{"id": "first"}}))(t)
	waiting := make(chan error, 1)
	plain := musttest.Get(sdk.NewClient(&sdk.Implementation{Name: "plain", Version: "1"}, nil).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: starter}, MaxRetries: -1}, nil))(t)
	go func() { // Ends with the gateway.
		_, err := plain.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{"id": "second", "timeout": "1h"}})
		waiting <- err
	}()
	kill()
	<-waiting // It ends with an error, or with the question if that was asked already.
	_, url = atGateway(t, bus)
	get, _ := tasker(t, url)
	await := func(id, status string) *task {
		t.Helper()
		for {
			if got := get("tasks/get", &taskParams{ID: id}); got.Status == status || got.Status == "completed" {
				return got
			}
		}
	}
	answers := map[string]any{}
	for request := range await("first", "input_required").Requests {
		answers[request] = map[string]any{"action": "accept", "content": map[string]any{"boxes": 7}}
	}
	get("tasks/update", &taskParams{ID: "first", Responses: answers})
	got := await("first", "completed")
	if got.Status != "completed" || !strings.Contains(string(got.Result), `{"boxes":7}`) {
		t.Errorf("%+v %s", got, got.Result)
	}
	get("tasks/cancel", &taskParams{ID: "second"})
	if got := await("second", "cancelled"); got.Status != "cancelled" {
		t.Errorf("%+v", got)
	}
}
