package a2a_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// proves V-T19
// proves V22
func TestTheWorkIsANewTaskAndItsArtifactTheResult(t *testing.T) {
	play := func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateWorking, "looking")
		s.Make("box", false, sdk.NewTextPart("under "))
		s.Make("box", true, sdk.NewTextPart("the stairs"))
		s.Say(sdk.TaskStateCompleted, "done")
	}
	everyWay(t, play, func(t *testing.T, agent *a2atest.Agent, c a2a.Config) {
		c.Metadata, c.Headers = map[string]any{"notify": true}, map[string]string{"Authorization": "Bearer s3cret"}
		h := &hand{}
		succeeded(t, runWork(t, c, h, work()), `"under the stairs"`)
		heard := agent.Heard()
		if len(heard) != 1 || len(agent.Cancels()) != 0 {
			t.Fatalf("%d messages, cancels %v", len(heard), agent.Cancels())
		}
		m := heard[0].Message
		if m.TaskID != "" || m.Role != sdk.MessageRoleUser || m.ID == "" || m.Metadata["notify"] != true || m.Metadata["language"] != "de" {
			t.Errorf("%+v", m)
		}
		if heard[0].Header.Get("Authorization") != "Bearer s3cret" || heard[0].Header.Get("Idempotency-Key") != m.ID {
			t.Errorf("%v", heard[0].Header)
		}
		own, ok := m.Metadata["jobgraph"].(map[string]any)
		if !ok || own["idempotency_key"] != "j1/ask/1" || own["job"] != "j1" {
			t.Errorf("%v", m.Metadata)
		}
		data := musttest.JSON(t, m.Parts[1].Data())
		if m.Parts[0].Text() != "Find the box\nContext: hall 2" || string(data) != `{"inputs":{"n":3},"results":{"a":{"output":{"hall":2}}}}` {
			t.Errorf("%q %s", m.Parts[0].Text(), data)
		}
		for _, e := range h.effects {
			if strings.Contains(string(e.Args), "s3cret") {
				t.Errorf("the journal has the secret: %s", e.Args)
			}
		}
	})
}

func TestAnAgentMayAnswerWithoutATask(t *testing.T) {
	everyWay(t, func(s *a2atest.Stage) { s.Answer("forty-two") }, func(t *testing.T, _ *a2atest.Agent, c a2a.Config) {
		h := &hand{}
		succeeded(t, runWork(t, c, h, work()), `"forty-two"`)
		if slices.ContainsFunc(h.effects, func(e expert.Effect) bool { return strings.HasSuffix(e.Key, "/task") }) {
			t.Error("a task was waited for")
		}
	})
}

// proves V-T19
func TestATaskThatNeedsInputGoesOnWithTheAnswer(t *testing.T) {
	play := func(s *a2atest.Stage) {
		s.Begin()
		if s.Fresh {
			s.Make("m", false, sdk.NewTextPart("a map"))
			s.Say(sdk.TaskStateInputRequired, "Which hall?")
			return
		}
		s.Make("r", false, sdk.NewTextPart("hall "+s.Message.Parts[0].Text()))
		s.Say(sdk.TaskStateCompleted, "")
	}
	everyWay(t, play, func(t *testing.T, agent *a2atest.Agent, c a2a.Config) {
		h := &hand{}
		e := runWork(t, c, h, work())
		if e.Park == nil || e.Park.Kind != events.InputClarification || e.Park.Request != "ask~1~a2a1-1" || !strings.HasSuffix(e.Park.Prompt, "Which hall?") {
			t.Fatal(shown(e))
		}
		succeeded(t, runWork(t, c, h, resumed(e.Park.Request, `"2"`)), `{"artifacts":[{"id":"m","parts":[{"text":"a map"}]},{"id":"r","parts":[{"text":"hall 2"}]}]}`)
		heard := agent.Heard()
		if len(heard) != 2 || heard[1].Message.TaskID == "" || heard[1].Message.ContextID == "" || heard[0].Message.ID == heard[1].Message.ID {
			t.Fatalf("%+v", heard)
		}
		if len(agent.Cancels()) != 0 {
			t.Errorf("cancelled %v", agent.Cancels())
		}
	})
}

func TestARequestThatNobodyAnswersEndsTheTask(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Settings{Streaming: true}, func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateInputRequired, "Which hall?")
	})
	h := &hand{}
	c := a2a.Config{Agent: agent.URL}
	e := runWork(t, c, h, work())
	w := resumed(e.Park.Request, `null`)
	w.Answers[e.Park.Request] = events.InputClosed{Action: events.Cancelled}
	failed(t, runWork(t, c, h, w), events.CodeRejected, "cancelled")
	if len(agent.Cancels()) != 1 || len(agent.Heard()) != 1 {
		t.Errorf("%v", agent.Cancels())
	}
}

// proves V-T19
func TestAnAttemptAfterAFailureBeginsATaskOfItsOwn(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Settings{Streaming: true}, func(s *a2atest.Stage) {
		s.Begin()
		if s.Fresh {
			s.Say(sdk.TaskStateInputRequired, "Which hall?")
			return
		}
		s.Say(sdk.TaskStateFailed, "no such hall")
	})
	h := &hand{}
	c := a2a.Config{Agent: agent.URL}
	e := runWork(t, c, h, work())
	w := resumed(e.Park.Request, `"9"`)
	failed(t, runWork(t, c, h, w), events.CodeExecution, "no such hall")
	w.Run, w.Attempt, w.IdempotencyKey = 3, 2, "j1/ask/3"
	if e = runWork(t, c, h, w); e.Park == nil || e.Park.Request != "ask~3~a2a2-1" {
		t.Fatal(shown(e))
	}
	heard := agent.Heard()
	if len(heard) != 3 || heard[2].Message.TaskID != "" {
		t.Errorf("%+v", heard)
	}
}

// proves V-T19
// proves V-weakness-1
func TestWhatTheStatesOfATaskMean(t *testing.T) {
	for _, test := range []struct {
		state   sdk.TaskState
		code    events.Code
		cancels int
	}{
		{sdk.TaskStateFailed, events.CodeExecution, 0},
		{sdk.TaskStateRejected, events.CodeRejected, 0},
		{sdk.TaskStateCanceled, events.CodeCancelled, 0},
		{sdk.TaskStateAuthRequired, events.CodeNotPermitted, 1},
	} {
		play := func(s *a2atest.Stage) {
			s.Begin()
			s.Say(test.state, "because of the moon")
		}
		t.Run(string(test.state), func(t *testing.T) {
			everyWay(t, play, func(t *testing.T, agent *a2atest.Agent, c a2a.Config) {
				failed(t, runWork(t, c, &hand{}, work()), test.code, "because of the moon")
				if len(agent.Cancels()) != test.cancels {
					t.Errorf("cancelled %v", agent.Cancels())
				}
			})
		})
	}
}

// A stop is passed on to the agent; if another runner continues the run, the task is left alone.
//
// proves V-weakness-11
func TestTheEndOfTheRunEndsTheTaskOnlyIfItIsOver(t *testing.T) {
	play := func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateWorking, "at it")
		<-s.Ctx.Done()
	}
	everyWay(t, play, func(t *testing.T, agent *a2atest.Agent, c a2a.Config) {
		for want, cause := range []error{errElsewhere, expert.ErrStopped} {
			ctx, cancel := context.WithCancelCause(t.Context())
			h := &hand{kept: func(key string) {
				if strings.HasSuffix(key, "/send") {
					cancel(cause)
				}
			}}
			expertOf(t, c).Run(ctx, taskOf(h, work()))
			if got := agent.Cancels(); len(got) != want {
				t.Fatalf("%v: cancelled %v", cause, got)
			}
		}
	})
}

// proves V24
// proves V26
func TestWhatAnAgentShowsKeepsItsType(t *testing.T) {
	play := func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateWorking, "hmm", "response_event", "reasoning")
		s.Say(sdk.TaskStateWorking, "", "response_event", "tool_call_started", "tool_call_id", "t1", "tool_name", "search", "tool_args", map[string]any{"q": "box"})
		s.Say(sdk.TaskStateWorking, "", "response_event", "tool_call_completed", "tool_call_id", "t1", "tool_name", "search", "tool_result", "found")
		s.Say(sdk.TaskStateWorking, `{"title":"T","data":"# T"}`, "response_event", "component_generator", "component_type", "report", "component_id", "r1")
		s.Say(sdk.TaskStateWorking, "no JSON", "response_event", "component_generator", "component_type", "profile")
		s.Say(sdk.TaskStateWorking, "under", "response_event", "message_chunk")
		s.Say(sdk.TaskStateCompleted, "")
	}
	for _, old := range []bool{false, true} {
		agent := a2atest.Start(t, a2atest.Settings{Old: old, Streaming: true}, play)
		h := &hand{}
		succeeded(t, runWork(t, a2a.Config{Agent: agent.URL}, h, work()), `"under"`)
		want := []item.Item{
			{Type: item.Thinking, ID: "thought", Text: "hmm"},
			{Type: item.Tool, ID: "tool/t1", Tool: "search", Args: `{"q":"box"}`},
			{Type: item.Tool, ID: "tool/t1", Bytes: 7, Done: true},
			{Type: item.Component, ID: "component/r1", Component: "report", Data: json.RawMessage(`{"title":"T","data":"# T"}`), Done: true},
			{Type: item.Component, ID: "said/2", Component: "profile", Text: "no JSON", Done: true},
			{Type: item.Text, ID: "answer", Text: "under"},
			{Type: item.Text, ID: "answer", Done: true},
			{Type: item.Thinking, ID: "thought", Done: true},
		}
		musttest.Equal(t, want, h.items)
		if last := h.live[len(h.live)-2]; last != `{"item":"said/2","offset":0,"text":"no JSON"}` {
			t.Errorf("those who listen now are told %s", last)
		}
	}
}

// proves V-T12
// proves V-T20
// proves V-T19
// proves V23
func TestWhatIsToldInPiecesIsOneResultAndWasWatchedLive(t *testing.T) {
	play := func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateWorking, "hmm", "response_event", "reasoning")
		s.Say(sdk.TaskStateWorking, "looking it up", "response_event", "tool_call_started", "tool_call_id", "t1", "tool_name", "search", "tool_args", map[string]any{"q": "box"})
		s.Say(sdk.TaskStateWorking, "", "response_event", "tool_call_completed", "tool_call_id", "t1", "tool_name", "search", "tool_result", "found")
		for _, chunk := range []string{"under ", "the ", "stairs"} {
			s.Say(sdk.TaskStateWorking, chunk, "response_event", "message_chunk")
		}
		s.Say(sdk.TaskStateCompleted, "")
	}
	for _, old := range []bool{false, true} {
		agent := a2atest.Start(t, a2atest.Settings{Old: old, Streaming: true}, play)
		h := &hand{}
		succeeded(t, runWork(t, a2a.Config{Agent: agent.URL}, h, work()), `"under the stairs"`)
		want := []string{
			`{"item":"thought","offset":0,"text":"hmm"}`,
			`{"item":"tool/t1","offset":0,"tool":"search","args":"{\"q\":\"box\"}"}`,
			`{"item":"tool/t1","offset":0,"done":true,"bytes":7}`,
			`{"item":"answer","offset":0,"text":"under "}`,
			`{"item":"answer","offset":6,"text":"the "}`,
			`{"item":"answer","offset":10,"text":"stairs"}`,
		}
		musttest.Equal(t, want, h.live)
		musttest.Equal(t, []string{"remote task is submitted", "remote task is working: hmm", "remote task is completed"}, h.progress)
	}
}
