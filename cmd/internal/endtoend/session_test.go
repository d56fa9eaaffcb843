package endtoend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// withAgent gives the system an agent "agent" whose model says what f says to the last message that it got.
func (s *system) withAgent(dir, front string, f func(text string) string) *llmtest.Server {
	s.Helper()
	if err := os.WriteFile(filepath.Join(dir, "agent.md"), []byte("---\nname: Agent\nkind: llm\n"+front+"---\nTalk.\n"), 0o600); err != nil {
		s.Fatal(err)
	}
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Text: "<deliverable>" + f(q.Turns[len(q.Turns)-1].Text) + "</deliverable>"}, nil
	}))
	s.cards, s.doer = dir, model
	return model
}

// said lists what a session has on record.
func (s *system) said(session, user string) (list []string) {
	s.Helper()
	page, err := client.New(s.Bus).Conversation(session, user).Page(s.Context(), 0, 100)
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range page.Items {
		list = append(list, string(e.Type)+" "+e.Text)
	}
	return list
}

// proves C7
// proves V1
// proves V17
func TestAChosenExpertHearsWhatWasSaidBeforeAlsoAfterARestart(t *testing.T) {
	for name, c := range map[string]struct {
		front, session string
		knows          bool
	}{
		"in the session":         {"", "s", true},
		"in another session":     {"", "other", false},
		"with a card without it": {"history: 0\n", "s", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			virtual(t, func(s *system) {
				model := s.withAgent(dir, c.front, func(string) string { return "Nice to meet you." + strings.Repeat(" Very nice.", 400) })
				running := []*service{s.start(schedulerName, nil), s.start(plannerName, nil), s.start(runnerName, nil)}
				s.Submit(events.Request{ID: "j1", Session: "s", User: "ann", Expert: "Agent", Goal: "My name is Ann"})
				s.EndedAs("j1", events.Finished)
				for _, r := range running {
					if err := r.Stop(); err != nil {
						t.Error(err)
					}
				}
				s.startAll()
				s.Submit(events.Request{ID: "j2", Session: c.session, User: "ann", Expert: "Agent", Goal: "What is my name?"})
				s.EndedAs("j2", events.Finished)
				asked := model.Asked()
				if len(asked) != 2 {
					t.Fatalf("the model was asked %d times", len(asked))
				}
				last := asked[1].Turns[len(asked[1].Turns)-1].Text
				for _, said := range []string{"User (ann): My name is Ann\n", "Result: Nice to meet you. Very nice."} {
					if strings.Contains(last, said) != c.knows {
						t.Errorf("the model was told\n%s", last)
					}
				}
				if !strings.HasPrefix(last, "The request:\nWhat is my name?\n") {
					t.Errorf("the model was told\n%s", last)
				}
			})
		})
	}
}

// proves V16
// proves V-T7
func TestAStepThatIsHandedOffInheritsWhatWasSaidBefore(t *testing.T) {
	dir := t.TempDir()
	virtual(t, func(s *system) {
		model := s.withAgent(dir, "", func(string) string { return "Done." })
		s.split = func(*events.Work) *events.Plan { return nil } // Only planners may hand off.
		s.startAll()
		first := step("a", "My name is Ann")
		first.Expert = "agent"
		s.Submit(events.Request{ID: "j1", Session: "s", User: "ann", Goal: "My name is Ann", Plan: plan(first)})
		s.EndedAs("j1", events.Finished)
		handed := step("a", "Write to me")
		handed.Expert, handed.Handoff, handed.Title = "agent", true, "Write a letter"
		s.Submit(events.Request{ID: "j2", Session: "s", Thread: "t", User: "ann", Goal: "Send a letter", Plan: plan(handed)})
		s.EndedAs("j2", events.Finished)
		asked := model.Asked()
		if last := asked[len(asked)-1].Turns; !strings.Contains(last[len(last)-1].Text, "User (ann): My name is Ann\n") {
			t.Errorf("the model was told %+v", last)
		}
		s.settled("j2")
		var got []item.Item
		for e, err := range client.New(s.Bus).Conversation("j2~a", "ann").Items(s.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Item)
		}
		var list []string
		phases := map[string]int{}
		for i := range got {
			var about struct{ Phase, Session string }
			if got[i].Component == "" {
				list = append(list, string(got[i].Type)+" "+got[i].Text)
			} else if json.Unmarshal(got[i].Data, &about) == nil && about.Session == "j2~a" {
				phases[about.Phase]++
			}
		}
		if diff := cmp.Diff([]string{"message Write a letter", "text Done."}, list); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"start": 1, "end": 1}, phases); diff != "" {
			t.Error(diff)
		}
	})
}
