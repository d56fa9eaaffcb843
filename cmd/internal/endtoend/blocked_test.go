package endtoend

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// A failing agent is retried up to its limit; one whose model rejects its key is not, since no retry can help.
//
// proves O-T6
// proves O-weakness-9
func TestOT6AnAgentThatBreaksIsBlockedAndTheJobEnds(t *testing.T) {
	dir := t.TempDir()
	musttest.Write(t, filepath.Join(dir, "agent.md"), "---\nname: Agent\nkind: llm\n---\nTry.\n")
	for expert, want := range map[string]struct{ runs, asked int }{"panics": {runs: 4}, "agent": {runs: 1, asked: 1}} {
		t.Run(expert, func(t *testing.T) {
			virtual(t, func(s *system) {
				asked := llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
					return llmtest.Answer{Status: 401, Error: "the key is wrong"}, nil
				}))
				s.cards, s.doer = dir, asked
				s.experts = append(s.experts, s.expert("panics", false, func(_ context.Context, t *runner.Task) (events.SubJobReported, error) {
					s.mu.Lock()
					s.runs[runOf(t.Work)]++
					s.mu.Unlock()
					panic("out of order")
				}))
				s.startAll()
				broken := step("a", "break")
				broken.Expert = expert
				s.Submit(events.Request{ID: "j", Goal: "break", Plan: plan(broken, step("b", "after", "a"))})
				s.EndedAs("j", events.Failed)
				runs := 0
				for e, err := range client.New(s.Bus).Events(s.Context(), "j", 0) {
					if err != nil {
						s.Fatal(err)
					}
					if e.Kind == events.KindSubJobReported && e.SubJob == "a" {
						runs++
					}
				}
				if asked := len(asked.Asked()); runs != want.runs || asked != want.asked {
					s.Errorf("it was tried %d times, the model was asked %d times", runs, asked)
				}
				answer, err := client.New(s.Bus).Plan(s.Context(), client.PlanOperation{Command: "get", PlanID: "j"})
				if err != nil || strings.Count(answer.Text, "[!]") != 1 || strings.Count(answer.Text, "[ ]") != 1 || answer.Status != events.Failed {
					s.Errorf("%s %v %v", answer.Text, answer.Status, err)
				}
			})
		})
	}
}
