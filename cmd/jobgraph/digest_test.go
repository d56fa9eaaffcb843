package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The digest of the examples waits for a person each time: what they reject is written again as they say, what they approve is kept.
func TestTheDigestGoesOutAsAPersonHasConfirmed(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort", "TZ": "UTC"}
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	stop, where := startUp(t, env, []string{"--experts", "examples/digest/experts", "--model", "fake:examples/digest/model.yaml"})
	t.Cleanup(stop)
	vars["NATS_URL"] = where
	says := func(args ...string) string {
		p := launch(env, nil, args...)
		if code := <-p.code; code != 0 {
			t.Fatalf("%v: exit code %d: %s%s", args, code, p.stdout.String(), p.stderr.String())
		}
		return p.stdout.String()
	}
	readme := musttest.Get(os.ReadFile("examples/digest/README.md"))(t)
	_, create, _ := strings.Cut(string(readme), "\njobgraph schedule create ")
	create, _, _ = strings.Cut(create, "\n")
	says(append([]string{"schedule", "create"}, strings.Fields(create)...)...)
	c := musttest.Get(client.Connect(t.Context(), bus.Options{URL: where}))(t)
	defer c.Close()
	for _, answers := range [][]string{{"approve"}, {"reject", "approve"}} {
		trigger := launch(env, nil, "schedule", "trigger", "digest")
		code := <-trigger.code
		for code == 6 { // The schedule learns of the end of its last run a moment after the readers of that job.
			trigger = launch(env, nil, "schedule", "trigger", "digest")
			code = <-trigger.code
		}
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, trigger.stderr.String())
		}
		job := strings.TrimSpace(trigger.stdout.String())
		asked := 0
		for e, err := range c.Watch(t.Context(), job, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch data := e.Data.(type) {
			case *events.InputRequested:
				if shown := says("inputs", job); !strings.Contains(shown, "answer by tomorrow") || strings.Contains(shown, "pumpkin") == (asked == 1) {
					t.Errorf("it asks: %s", shown)
				}
				args := []string{answers[asked], job}
				if asked++; args[0] == "reject" {
					args = append(args, "--reason", "leave out the newsletter")
				}
				says(args...)
			case *events.JobEnded:
				if data.Error != nil || asked != len(answers) {
					t.Errorf("it ended after %d questions: %v", asked, data.Error)
				}
			}
			if _, over := client.Ended(e); over {
				break
			}
		}
		digest := says("artifacts", "get", job, "digest/digest.md", "-f", "-")
		if strings.Count(digest, "\n") != 4-len(answers) || !strings.HasPrefix(digest, "- School: answer by tomorrow") {
			t.Errorf("%s: %s", job, digest)
		}
	}
}
