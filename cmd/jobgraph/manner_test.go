package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// manners lists models by the way they answer, in the order of the table.
var manners = []struct {
	name  string
	model llmtest.Responder
}{
	{"plans, and fills every form", llmtest.Planner{}},
	{"answers in prose", always(llmtest.Answer{Text: "Bees make honey. They live in hives."})},
	{"calls tools, then answers", llmtest.Func(callFirst)},
	{"calls tools for ever", always(llmtest.Answer{Calls: []llmtest.Call{{Name: "run", Args: `{"command":"true"}`}}})},
	{"calls a tool that it invents", always(llmtest.Answer{Calls: []llmtest.Call{{Name: "teleport", Args: `{}`}}})},
	{"cannot call tools", llmtest.Func(withoutTools)},
	{"writes half of a JSON", always(llmtest.Answer{Text: `{"subjobs": [{"id": "a", "goal":`})},
	{"is cut by its token limit", always(llmtest.Answer{Text: "Bees make", Finish: "length"})},
	{"says nothing", always(llmtest.Answer{})},
	{"refuses", always(llmtest.Answer{Refusal: "I cannot help with bees."})},
	{"is held back by a filter", always(llmtest.Answer{Text: "Bees", Finish: "content_filter"})},
	{"sends something else than JSON", always(llmtest.Answer{Body: "<html>log in</html>", Type: "text/html"})},
	{"does not exist", always(llmtest.Answer{Status: http.StatusNotFound, Error: "The model does not exist", Code: "model_not_found"})},
	{"refuses the key", always(llmtest.Answer{Status: http.StatusUnauthorized, Error: "Incorrect API key provided", Code: "invalid_api_key"})},
	{"has an account without money", always(llmtest.Answer{Status: http.StatusTooManyRequests, Error: "You exceeded your current quota", Code: "insufficient_quota"})},
}

func always(a llmtest.Answer) llmtest.Responder {
	return llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) { return a, nil })
}

// callFirst calls a tool if the agent has one, and answers once it has seen the result.
func callFirst(q llmtest.Question) (llmtest.Answer, error) {
	if _, agent := q.Tools["write_file"]; agent && q.Last("tool") == "" {
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"out/bees.md","content":"Bees make honey."}`}}}, nil
	}
	return llmtest.Planner{}.Respond(q)
}

// withoutTools refuses every question with tools, like servers of models that cannot call them.
func withoutTools(q llmtest.Question) (llmtest.Answer, error) {
	if len(q.Tools) > 0 {
		return llmtest.Answer{Status: http.StatusBadRequest, Error: "scripted does not support tools"}, nil
	}
	return llmtest.Planner{}.Respond(q)
}

// mannersTable is the table on the page about conformance.
const mannersTable = "testdata/manners.md"

// goalWith runs a goal in an empty home with an HTTP model, and returns the outcome: "answer", or the exit code and the fault code.
func goalWith(t *testing.T, model llmtest.Responder, job, profile string) string {
	served := httptest.NewServer(llmtest.New(model))
	defer served.Close()
	vars := map[string]string{"HOME": t.TempDir(), "OPENAI_BASE_URL": served.URL + "/v1", "OPENAI_MODEL": "scripted", "JOBGRAPH_SANDBOX": "best-effort"}
	p := launch(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, nil, "run", "--embedded", "--no-input", "-f", job, "--profile", profile, "-o", "json")
	code := <-p.code
	var end struct {
		Result json.RawMessage `json:"result"`
		Error  *events.Fault   `json:"error"`
	}
	err := json.Unmarshal([]byte(p.stdout.String()), &end)
	switch {
	case err != nil:
	case code == cli.ExitOK && end.Error == nil && len(end.Result) > len(`""`):
		return "answer"
	case code != cli.ExitOK && end.Error != nil && end.Error.Message != "" && end.Error.Hint != "":
		return fmt.Sprintf("exit %d: `%s`", code, end.Error.Code)
	}
	t.Errorf("%s: exit code %d, %v: %s%s", profile, code, err, p.stdout.String(), p.stderr.String())
	return "?"
}

// A goal in an empty folder without cards ends in an answer, or in a typed failure that says what to do, whatever the model does
// and whichever profile plans. The page about conformance shows the table.
func TestEveryProfileEndsWhateverTheModelDoes(t *testing.T) {
	job := t.TempDir() + "/job.json"
	musttest.Do(t, os.WriteFile(job, []byte(`{"goal":"Write about bees","limits":{"retries":0}}`), 0o600))
	profiles := []string{"default", "graph", "assistant", "research", "steps"}
	cells := make([][]string, len(manners))
	turn := make(chan struct{}, 4) // Four run at once.
	var runs sync.WaitGroup
	for i, m := range manners {
		cells[i] = make([]string, len(profiles))
		for n, profile := range profiles {
			runs.Go(func() {
				turn <- struct{}{}
				cells[i][n] = goalWith(t, m.model, job, profile)
				<-turn
			})
		}
	}
	runs.Wait()
	var b strings.Builder
	fmt.Fprintf(&b, "| the model | %s |\n|%s\n", strings.Join(profiles, " | "), strings.Repeat("---|", len(profiles)+1))
	for i, m := range manners {
		fmt.Fprintf(&b, "| %s | %s |\n", m.name, strings.Join(cells[i], " | "))
	}
	goldentest.Same(t, mannersTable, b.String()) // `make gen` puts it into the page of conformance.
}
