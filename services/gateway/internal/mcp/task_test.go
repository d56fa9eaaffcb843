package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

const tasks = "io.modelcontextprotocol/tasks"

// taskParams and task are messages of the extension as a client writes and reads them.
type taskParams struct {
	sdk.ParamsBase
	ID        string         `json:"taskId"`
	Responses map[string]any `json:"inputResponses,omitempty"`
}

type task struct {
	sdk.ResultBase
	Type     string          `json:"resultType"`
	ID       string          `json:"taskId"`
	Status   string          `json:"status"`
	Message  string          `json:"statusMessage"`
	Created  string          `json:"createdAt"`
	TTL      *int            `json:"ttlMs"`
	Poll     int             `json:"pollIntervalMs"`
	Requests map[string]any  `json:"inputRequests"`
	Result   json.RawMessage `json:"result"`
}

// tasker connects a client that supports tasks, and can put questions to a person.
func (s *site) tasker(g *gateway, role verb.Role, declares bool) *sdk.ClientSession {
	s.Helper()
	can := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}}
	if declares {
		can.AddExtension(tasks, nil)
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "test"}, &sdk.ClientOptions{Capabilities: can})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		musttest.Do(s, sdk.AddSendingCustomMethod[*taskParams, *task](c, method))
	}
	return s.join(c, g, token(role), "2026-07-28")
}

func (s *site) task(c *sdk.ClientSession, method string, p *taskParams) (*task, error) {
	return sdk.CallCustomMethod[*taskParams, *task](s.Context(), c, method, p)
}

// calls sends a raw tool call with the capabilities of a client, and returns its result.
func (s *site) calls(g *gateway, role verb.Role, capabilities, params string) string {
	s.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s},%s}}`, capabilities, params)
	status, text := s.post(g, map[string]string{"Authorization": "Bearer " + token(role), "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "wait"}, body)
	_, text, found := strings.Cut(text, "data: ")
	if status != 200 || !found {
		s.Fatal(status, text)
	}
	return strings.TrimSpace(text)
}

// A wait for an unfinished job becomes a task for a client that supports tasks. Another gateway knows it as well, even after the
// first one has died in the middle of a wait.
func TestATaskSurvivesItsGateway(t *testing.T) {
	s := open(t)
	first := s.start()
	s.change("j", func(*verb.Waited) {})
	made := s.calls(first, verb.Submitter, `{"extensions":{"`+tasks+`":{}}}`, `"name":"wait","arguments":{"id":"j"}`)
	var answer struct{ Result task }
	if err := json.Unmarshal([]byte(made), &answer); err != nil {
		t.Fatal(err, made)
	}
	if got := answer.Result; got.Type != "task" || got.ID != "j" || got.Status != "working" || got.TTL != nil || got.Poll == 0 || got.Created != "2027-01-15T08:00:00Z" || got.Result != nil ||
		!strings.Contains(made, `"ttlMs":null`) || strings.Contains(made, "inputRequests") {
		t.Fatalf("%s", made)
	}
	first.kill()
	c := s.tasker(s.start(), verb.Submitter, true)
	get := func(status string) *task {
		t.Helper()
		got, err := s.task(c, "tasks/get", &taskParams{ID: "j"})
		if err != nil || got.Status != status || got.Type != "complete" || got.ID != "j" {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	get("working")
	s.change("j", asking(verb.Question{Kind: events.InputForm, Prompt: "Size?", Schema: flatForm}))
	if got := get("input_required"); len(got.Requests) != 1 || !strings.Contains(fmt.Sprint(got.Requests["ask"]), "elicitation/create") {
		t.Errorf("%+v", got)
	}
	odd := map[string]any{"ask": object{"action": "accept", "content": object{"size": "big"}}}
	if _, err := s.task(c, "tasks/update", &taskParams{ID: "j", Responses: odd}); err == nil || !strings.Contains(err.Error(), "does not fit its form") {
		t.Errorf("an answer that does not fit: %v", err)
	}
	get("input_required")
	good := map[string]any{"ask": object{"action": "accept", "content": object{"size": 2}}, "never": object{"action": "accept"}}
	if got, err := s.task(c, "tasks/update", &taskParams{ID: "j", Responses: good}); err != nil || got.Type != "complete" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := get("completed"); !strings.Contains(string(got.Result), "all is done") || !strings.Contains(string(got.Result), `"structuredContent"`) {
		t.Errorf("%s", got.Result)
	}
	if _, err := s.task(c, "tasks/update", &taskParams{ID: "j", Responses: good}); err != nil {
		t.Errorf("an answer again: %v", err)
	}
	if told := s.told(); len(told) != 1 || told[0] != `answer {"answer":{"size":2},"by":"submitter","id":"j","request":"ask"}` {
		t.Errorf("told %q", told)
	}
	done := s.calls(s.start(), verb.Submitter, `{"extensions":{"`+tasks+`":{}}}`, `"name":"wait","arguments":{"id":"j"}`)
	if !strings.Contains(done, `"resultType":"complete"`) || !strings.Contains(done, "all is done") {
		t.Errorf("a wait for a job that has ended: %s", done)
	}
}

func TestACancelledTaskStopsItsJobIfTheUserMay(t *testing.T) {
	s := open(t)
	g := s.start()
	s.change("j", func(*verb.Waited) {})
	s.requested("j", "boss")
	for _, role := range []verb.Role{verb.Viewer, verb.Submitter} {
		if _, err := s.task(s.tasker(g, role, true), "tasks/cancel", &taskParams{ID: "j"}); err == nil || !strings.Contains(err.Error(), "it takes the role operator or admin") && !strings.Contains(err.Error(), " may ") {
			t.Errorf("a %s cancels: %v", role, err)
		}
	}
	s.change("own", func(*verb.Waited) {})
	s.requested("own", string(verb.Submitter))
	if got, err := s.task(s.tasker(g, verb.Submitter, true), "tasks/cancel", &taskParams{ID: "own"}); err != nil || got.Type != "complete" {
		t.Errorf("their own: %+v, %v", got, err)
	}
	c := s.tasker(g, verb.Operator, true)
	for range 2 { // The second one finds it stopped.
		if got, err := s.task(c, "tasks/cancel", &taskParams{ID: "j"}); err != nil || got.Type != "complete" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got, err := s.task(c, "tasks/get", &taskParams{ID: "j"}); err != nil || got.Status != "cancelled" || got.Result != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if told := s.told(); len(told) != 3 || told[0] != `stop {"by":"submitter","id":"own","reason":"the task was cancelled","wait":false}` || told[1] != `stop {"by":"operator","id":"j","reason":"the task was cancelled","wait":false}` {
		t.Errorf("told %q", told)
	}
}

func TestTasksAreForThoseWhoDeclareThem(t *testing.T) {
	s := open(t)
	g := s.start()
	s.change("j", func(*verb.Waited) {})
	for method, p := range map[string]*taskParams{"tasks/get": {ID: "j"}, "tasks/update": {ID: "j"}, "tasks/cancel": {ID: "j"}} {
		if _, err := s.task(s.tasker(g, verb.Admin, false), method, p); code(err) != -32021 {
			t.Errorf("%s without the extension: %v", method, err)
		}
		for _, id := range []string{"none", ""} {
			p := &taskParams{ID: id, Responses: map[string]any{"ask": object{"action": "decline"}}}
			if _, err := s.task(s.tasker(g, verb.Admin, true), method, p); code(err) != -32602 {
				t.Errorf("%s of the task %q: %v", method, id, err)
			}
		}
	}
	if got := s.calls(g, verb.Admin, `{}`, `"name":"wait","arguments":{"id":"j","timeout":"1ms"}`); strings.Contains(got, `"task"`) {
		t.Errorf("a task without the extension: %s", got)
	}
}
