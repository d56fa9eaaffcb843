package main_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// outside is one run of the program with an HTTP model that records its prompts.
type outside struct {
	code           int
	stdout, stderr string
	asked          []llmtest.Question
}

// fromOutside runs the program in an empty home with a model.
func fromOutside(t *testing.T, model *llmtest.Server, args ...string) outside {
	t.Helper()
	served := httptest.NewServer(model)
	defer served.Close()
	vars := map[string]string{"HOME": t.TempDir(), "OPENAI_BASE_URL": served.URL + "/v1", "OPENAI_MODEL": "scripted", "JOBGRAPH_SANDBOX": "best-effort"}
	p := launch(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, nil, args...)
	o := outside{code: <-p.code}
	o.stdout, o.stderr, o.asked = p.stdout.String(), p.stderr.String(), model.Asked()
	return o
}

// prompt returns the whole text of one question to the model.
func (o *outside) prompt(t *testing.T, n int) string {
	t.Helper()
	if n >= len(o.asked) {
		t.Fatalf("the model was asked %d times: %s%s", len(o.asked), o.stdout, o.stderr)
	}
	return o.asked[n].All()
}

// says checks that a prompt contains each text, regardless of line breaks.
func says(t *testing.T, prompt string, wanted ...string) {
	t.Helper()
	prompt = strings.Join(strings.Fields(prompt), " ")
	for _, want := range wanted {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt does not say %q:\n%s", want, prompt)
		}
	}
}

// The prompts of the profiles carry the rules of their ancestors, the experts, the time, the locale and the limits.
//
// proves C10
// proves D6
// proves D9
func TestPromptsCarryTheRulesOfTheirProfiles(t *testing.T) {
	t.Run("graph", func(t *testing.T) {
		o := fromOutside(t, llmtest.New(llmtest.Planner{}), "run", "--embedded", "--profile", "graph", "Rank the accounts of bank.csv")
		if o.code != cli.ExitOK {
			t.Fatalf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
		}
		says(t, o.prompt(t, 0), "As few tasks as possible", "Go on even when a precondition seems to be missing", "repeats all original data, figures, formulas and code word for word",
			`"completion_criteria" are measurable`, `"thinking" is in the first person, short, and names no expert`, "All fields are in the language of the request",
			"Design Expert", "Rank the accounts of bank.csv")
	})
	t.Run("research", func(t *testing.T) {
		job := filepath.Join(t.TempDir(), "job.json")
		request := `{"goal":"Why does gold rise?","profile":"research","locale":"de-DE","limits":{"max_steps":4}}`
		musttest.Do(t, os.WriteFile(job, []byte(request), 0o600))
		o := fromOutside(t, llmtest.New(llmtest.Planner{}), "run", "--embedded", "-f", job)
		if o.code != cli.ExitOK {
			t.Fatalf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
		}
		draft := ""
		for i := range o.asked {
			if text := o.asked[i].All(); strings.Contains(text, "has_enough_context") {
				draft = text
				break
			}
		}
		says(t, draft, "de-DE", "Why does gold rise?", "4")
	})
}

// A run with agents from a configuration ends within its deadline.
// proves O18
func TestAJobEndsWithinItsDeadline(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"experts/slow.md": "---\nname: Slow\nkind: command\nsandbox: best-effort\ncommand: [\"/bin/sh\", \"-c\", \"tail -f /dev/null\"]\n---\n",
		"job.json":        `{"goal":"wait","expert":"Slow","limits":{"deadline":"300ms"}}`,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	o := fromOutside(t, llmtest.New(llmtest.Planner{}), "run", "--embedded", "--experts", filepath.Join(dir, "experts"), "-f", filepath.Join(dir, "job.json"))
	if o.code != cli.ExitFailed || !strings.Contains(o.stderr, "deadline") {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

// The built-in agent of the profile of steps has the tools of its ancestor, and uses them: it writes a file, runs it, and
// hands a file on.
//
// proves O16
func TestTheAgentOfStepsHasItsTools(t *testing.T) {
	step := []llmtest.Call{
		{Name: "write_file", Args: `{"path":"sum.sh","content":"echo $((40 + 2)) >out/sum.txt; cat out/sum.txt\n"}`},
		{Name: "run", Args: `{"command":"sh sum.sh"}`},
		{Name: "find", Args: `{"name":"sum*"}`},
		{Name: "terminate", Args: `{"status":"success","output":"the sum is 42"}`},
	}
	plain := llmtest.Planner{}
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if _, agent := q.Tools["terminate"]; !agent {
			return plain.Respond(q)
		}
		for _, name := range []string{"run", "edit", "find", "fetch", "read_file", "write_file", "list_files", "ask_person", "terminate"} {
			if _, has := q.Tools[name]; !has {
				t.Errorf("the agent is not offered %s", name)
			}
		}
		n := 0
		for _, turn := range q.Turns {
			if turn.Role == "tool" {
				n++
			}
		}
		return llmtest.Answer{Calls: step[min(n, len(step)-1) : min(n, len(step)-1)+1]}, nil
	}))
	out := t.TempDir()
	o := fromOutside(t, model, "run", "--embedded", "--profile", "steps", "--artifacts", out, "Add 40 and 2")
	if o.code != cli.ExitOK {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	says(t, o.prompt(t, len(o.asked)-1), "the sum is 42") // The summary is made from it.
	found, err := filepath.Glob(filepath.Join(out, "*", "sum.txt"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the file was not handed on: %v, %v\n%s", found, err, o.stdout)
	}
	if text, err := os.ReadFile(found[0]); err != nil || string(text) != "42\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// A plan says to which request, conversation and person it belongs, when it was made, and what it is called.
//
// proves V8
func TestAPlanSaysWhereItBelongs(t *testing.T) {
	o := fromOutside(t, llmtest.New(llmtest.Planner{}), "run", "--embedded", "--profile", "assistant", "--session", "desk", "--user", "ann", "-o", "json", "Say hello")
	if o.code != cli.ExitOK {
		t.Fatalf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	var job map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &job); err != nil {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	for field, want := range map[string]string{"goal": "Say hello", "session": "desk", "user": "ann", "profile": "assistant"} {
		if got, _ := job[field].(string); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if created, _ := job["created"].(string); created == "" {
		t.Errorf("the job does not say when it was made: %v", job)
	}
}
