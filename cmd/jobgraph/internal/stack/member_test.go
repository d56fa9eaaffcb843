package stack

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// `up --model fake` may run for weeks: with every question in memory it would grow by each of them.
func TestTheScriptedModelOfAStackKeepsNoQuestions(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(script, []byte("answers:\n- text: hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"fake", "fake:" + script} {
		doer, err := (&Settings{Model: model}).play()
		if err != nil {
			t.Fatal(err)
		}
		server, is := doer.(*llmtest.Server)
		if !is {
			t.Fatalf("%s: the model is a %T", model, doer)
		}
		body := strings.NewReader(`{"model":"fake","messages":[{"role":"user","content":"hi"}]}`)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fakeAddress+"/chat/completions", body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || len(server.Asked()) != 0 {
			t.Errorf("%s: status %d, %v, keeps %d questions", model, answer.StatusCode, err, len(server.Asked()))
		}
	}
}
