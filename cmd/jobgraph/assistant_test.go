package main_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/cli"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// modelled returns an environment with a model, and a server that records the questions.
func modelled(t *testing.T) (*llmtest.Server, func(string) (string, bool)) {
	t.Helper()
	model := llmtest.New(llmtest.Planner{})
	served := httptest.NewServer(model)
	t.Cleanup(served.Close)
	vars := map[string]string{"HOME": t.TempDir(), "OPENAI_BASE_URL": served.URL + "/v1", "OPENAI_MODEL": "scripted"}
	return model, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestAGoalAndAModelAreEnough(t *testing.T) {
	model, env := modelled(t)
	p := launch(env, nil, "run", "--embedded", "say hello")
	if code := <-p.code; code != cli.ExitOK {
		t.Fatalf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
	}
	out := p.stdout.String()
	if !strings.Contains(out, "completed s1  analyst") || !strings.Contains(out, "job FINISHED  1/1") || !strings.Contains(out, "Scripted answer to: say hello") {
		t.Error(out)
	}
	if n := len(model.Asked()); n != 3 {
		t.Errorf("the model was asked %d times, want once to read the goal, once for the plan and once for its step", n)
	}
}

func TestACardWinsOverTheBuiltInExpert(t *testing.T) {
	_, experts := holding(t)
	_, env := modelled(t)
	p := launch(env, nil, "plan", "draft", "--experts", experts, "say hello")
	if code := <-p.code; code != cli.ExitOK || !strings.Contains(p.stdout.String(), `"expert": "holder"`) {
		t.Errorf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
	}
	p = launch(env, nil, "run", "--embedded", "--experts", experts, "--expert", "assistant", "say hello")
	if code := <-p.code; code != cli.ExitFailed || !strings.Contains(p.stderr.String(), `no expert is called "assistant"`) {
		t.Errorf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
	}
}
