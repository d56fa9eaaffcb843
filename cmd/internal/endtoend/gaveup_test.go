package endtoend

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// An agent that does not finish fails its step and the job, whose other step does not start: one that has used all its
// turns, and one that gives up.
//
// proves O-T7
// proves O-T8
// proves O-weakness-2
// proves O-weakness-3
func TestAnAgentThatDoesNotGetToItsEndIsNoSuccess(t *testing.T) {
	dir := t.TempDir()
	text := "---\nname: Agent\nkind: llm\ntools: [list_files, terminate]\nmax_turns: 3\nretries: 0\n---\nTry.\n"
	musttest.Write(t, filepath.Join(dir, "agent.md"), text)
	for name, test := range map[string]struct {
		call  llmtest.Call
		asked int
		code  events.Code
		cause string
	}{
		"the budget is used up": {llmtest.Call{Name: "list_files", Args: `{}`}, 3, events.CodeBudget, "3 turns"},
		"it gives up":           {llmtest.Call{Name: "terminate", Args: `{"status":"failure","reason":"there is no road"}`}, 1, events.CodeExecution, "there is no road"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(s *system) {
				model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
					return llmtest.Answer{Text: strings.Repeat("on and ", q.N), Calls: []llmtest.Call{test.call}}, nil
				}))
				s.cards, s.doer = dir, model
				s.startAll()
				tries := step("a", "find a way")
				tries.Expert = "agent"
				s.Submit(events.Request{ID: "j", Goal: "find a way", Plan: plan(tries, step("b", "gen:", "a"))})
				end := s.EndedAs("j", events.Failed)
				if f := s.Folded("j").State.Error; f == nil || end.Error == nil {
					s.Fatalf("%+v", end)
				}
				var report *events.SubJobReported
				for e, err := range s.Bus.Log().EventsOf(s.Context(), "j", 0) {
					if err != nil {
						s.Fatal(err)
					}
					if e.Kind == events.KindSubJobReported && e.SubJob == "a" {
						report = e.Report()
					}
				}
				if report.Outcome != events.ExecutionError || report.Error.Code != test.code || report.Error.Cause != test.cause || len(report.Output) > 0 {
					s.Errorf("%+v %+v", report, report.Error)
				}
				if n := len(model.Asked()); n != test.asked {
					s.Errorf("the model was asked %d times", n)
				}
				s.settled("j")
				if got := s.outcome("j"); got["a"] != string(events.Failed) || got["b"] != string(events.Stopped) {
					s.Errorf("%v", got)
				}
			})
		})
	}
}
