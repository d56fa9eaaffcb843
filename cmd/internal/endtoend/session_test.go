package endtoend

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// withAgent adds an agent "agent" whose model answers what f returns for the last message that it got.
func (s *system) withAgent(dir, front string, f func(text string) string) *llmtest.Server {
	s.Helper()
	musttest.Write(s, filepath.Join(dir, "agent.md"), "---\nname: Agent\nkind: llm\n"+front+"---\nTalk.\n")
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Text: "<deliverable>" + f(q.Turns[len(q.Turns)-1].Text) + "</deliverable>"}, nil
	}))
	s.cards, s.doer = dir, model
	return model
}

// said lists the recorded conversation of a session.
func (s *system) said(session, user string) (list []string) {
	s.Helper()
	page := musttest.Get(client.New(s.Bus).Conversation(session, user).Page(s.Context(), 0, 100))(s)
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
		musttest.Equal(t, []string{"message Write a letter", "text Done."}, list)
		musttest.Equal(t, map[string]int{"start": 1, "end": 1}, phases)
	})
}

// ask submits a request to a session, and fails the test if it is refused.
func (s *system) ask(r events.Request) client.Receipt {
	s.Helper()
	for { // A scheduler that is just starting answers later.
		_, _, err := s.Bus.Services().Request(s.Context(), s.Names.API("sessions.list"), nil)
		if err == nil {
			break
		}
		<-time.After(time.Second) // Virtual.
	}
	return musttest.Get(client.New(s.Bus).Ask(s.Context(), r))(s)
}

// jobs lists the jobs of a session.
func (s *system) jobs(session, user string) (ids []string) {
	s.Helper()
	record := musttest.Get(client.New(s.Bus).Sessions().As(user).Get(s.Context(), session))(s)
	for _, j := range record.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// proves V12
// proves V-weakness-4
// proves V-T10
func TestTheNextMessageOfASessionIsTheAnswerAlsoAfterARestart(t *testing.T) {
	reviewed := false
	for name, c := range map[string]struct {
		message events.Request
		// status is what happens to the job that asks; new is true if the message starts a job of its own.
		status events.Status
		new    bool
		reason string
	}{
		"accepted":       {events.Request{Goal: "Yes, confirmed"}, events.Finished, false, ""},
		"rejected":       {events.Request{Goal: "no thanks"}, events.Failed, false, ""},
		"something else": {events.Request{Goal: "What is the weather?"}, events.Waiting, true, "it neither accepts, edits nor rejects what is shown"},
		"a new job":      {events.Request{Goal: "yes", New: true}, events.Waiting, true, ""},
		"with a plan":    {events.Request{Goal: "yes", Plan: plan(step("a", "echo"))}, events.Waiting, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(s *system) {
				running := []*service{s.start(schedulerName, nil), s.start(plannerName, nil), s.start(runnerName, nil)}
				s.ask(events.Request{ID: "j1", Session: "s", User: "ann", Goal: "go", AutoAccept: &reviewed, Plan: plan(step("a", "echo"))})
				s.Await(s.Names.JobEvents("j1"), func(e events.Event) bool { return e.Kind == events.KindInputRequested })
				for _, r := range running {
					if err := r.Stop(); err != nil {
						t.Error(err)
					}
				}
				s.startAll()
				c.message.ID, c.message.Session, c.message.User = "m1", "s", "ann"
				first := s.ask(c.message)
				if again := s.ask(c.message); again.JobID != first.JobID || again.Answered != first.Answered {
					t.Errorf("%+v, and once more %+v", first, again)
				}
				if (first.Answered == "") != c.new || (first.JobID == "m1") != c.new {
					t.Errorf("%+v", first)
				}
				if reason := ""; c.reason != "" {
					if first.Unanswered != nil {
						reason = first.Unanswered.Reason
					}
					if reason != c.reason {
						t.Errorf("it was no answer because of %q", reason)
					}
				}
				want := []string{"j1"}
				if c.new {
					want = append(want, "m1")
				} else {
					s.EndedAs("j1", c.status)
				}
				musttest.Equal(t, want, s.jobs("s", "ann"))
				open := s.Folded("j1").View().Inputs
				if (len(open) > 0) != c.new {
					t.Errorf("%d questions are open", len(open))
				}
			})
		})
	}
}

// proves V13
// proves V-T8
func TestOfTwoAnswersToOneQuestionOneCounts(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		reviewed := false
		s.ask(events.Request{ID: "j1", Session: "s", Goal: "go", AutoAccept: &reviewed, Plan: plan(step("a", "echo"))})
		s.Await(s.Names.JobEvents("j1"), func(e events.Event) bool { return e.Kind == events.KindInputRequested })
		receipts := make(chan client.Receipt, 2)
		for id, goal := range map[string]string{"m1": "accept", "m2": "reject"} {
			go func() { // Ends with the answer, which is waited for below.
				receipt, err := client.New(s.Bus).Ask(s.Context(), events.Request{ID: id, Session: "s", User: id, Goal: goal})
				if err != nil {
					t.Error(err)
				}
				receipts <- receipt
			}()
		}
		answered := 0
		for range 2 {
			if r := <-receipts; r.Answered != "" {
				answered++
			}
		}
		if answered != 1 {
			t.Errorf("%d answers were taken", answered)
		}
		list := 0
		for _, said := range s.said("s", "") {
			if strings.HasPrefix(said, "answer ") {
				list++
			}
		}
		if list != 1 {
			t.Errorf("%d answers are on record: %q", list, s.said("s", ""))
		}
	})
}
