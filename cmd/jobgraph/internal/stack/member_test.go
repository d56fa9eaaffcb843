package stack

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// `up --model fake` may run for weeks: with every question in memory it would grow by each of them.
func TestTheScriptedModelOfAStackKeepsNoQuestions(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.yaml")
	musttest.Do(t, os.WriteFile(script, []byte("answers:\n- text: hello\n"), 0o600))
	for _, model := range []string{"fake", "fake:" + script} {
		doer := musttest.Get((&Settings{Model: model}).play())(t)
		server, is := doer.(*llmtest.Server)
		if !is {
			t.Fatalf("%s: the model is a %T", model, doer)
		}
		body := strings.NewReader(`{"model":"fake","messages":[{"role":"user","content":"hi"}]}`)
		request := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, fakeAddress+"/chat/completions", body))(t)
		answer, err := server.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || len(server.Asked()) != 0 {
			t.Errorf("%s: status %d, %v, keeps %d questions", model, answer.StatusCode, err, len(server.Asked()))
		}
	}
}
