package app_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// peers are agents of both versions, with streaming and without.
func peers() map[string]a2atest.Settings {
	return map[string]a2atest.Settings{
		"1.0 stream": {Streaming: true}, "1.0 poll": {}, "1.0 REST": {REST: true, Streaming: true},
		"0.3 stream": {Old: true, Streaming: true}, "0.3 poll": {Old: true},
	}
}

// remote returns a card for an agent, with additional lines.
func remote(t testing.TB, agent *a2atest.Agent, more string) app.Settings {
	t.Helper()
	return cards(t, "name: Desk\nkind: a2a\na2a:\n  agent: "+agent.URL+"\n"+more)
}

// killer is a hook that ends a runner at its nth boundary and every later one.
type killer struct {
	at    int32
	calls atomic.Int32
	point atomic.Value
	once  sync.Once
	died  chan struct{}
}

// A runner dies at every boundary in turn. The agent gets one message, and the result is the same; only if the runner dies between
// the intent and the message, so that the outcome cannot be known, is a person asked.
// proves V-weakness-12-remote
func TestARemoteAgentSeesOneMessageWhereverTheRunnerDies(t *testing.T) {
	for _, name := range []string{"1.0 poll", "0.3 stream"} {
		settings := peers()[name]
		t.Run(name, func(t *testing.T) {
			points := int32(0)
			for n := int32(1); crashedRemote(t, settings, n); n++ {
				points = n
			}
			if points < 12 {
				t.Errorf("only %d boundaries", points)
			}
		})
	}
}

// crashedRemote kills a runner at its nth boundary. It returns false if there are fewer.
func crashedRemote(t *testing.T, settings a2atest.Settings, n int32) (killed bool) {
	agent := a2atest.Start(t, settings, func(s *a2atest.Stage) {
		s.Begin()
		s.Say(sdk.TaskStateWorking, "at it")
		s.Make("r", false, sdk.NewTextPart("done"))
		s.Say(sdk.TaskStateCompleted, "")
	})
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		s := remote(t, agent, "")
		k := &killer{at: n, died: make(chan struct{})}
		one := start(w, s, app.Deps{Owner: "one", Hook: func(point, _ string) error {
			if k.calls.Add(1) < k.at {
				return nil
			}
			k.once.Do(func() { k.point.Store(point); close(k.died) })
			return errKilled
		}})
		o := work("desk", "j1", "a", 1)
		state(w, o, true)
		w.Issue(o)
		w.Until("the runner has died, or is done", func() bool {
			select {
			case <-k.died:
				killed = true
			default:
			}
			return killed || len(w.Facts("j1", events.KindSubJobReported)) > 0 && w.IsIdle()
		})
		one.Kill()
		start(w, s, app.Deps{Owner: "two"})
		if killed && len(agent.Heard()) == 0 {
			// Nothing was sent. If the message was about to be sent, a person has to decide.
			w.Until("it is reported, or asked", func() bool {
				return len(w.Facts("j1", events.KindSubJobReported))+len(w.Facts("j1", events.KindInputRequested)) > 0
			})
			if asked := w.Facts("j1", events.KindInputRequested); len(asked) > 0 {
				in := w.Asked(o)
				if in.Kind != events.InputUnknown || k.point.Load() != "effect" {
					t.Errorf("asked at %v: %+v", k.point.Load(), in)
				}
				o = resumed(o, in.Request, `"retry"`)
				w.Issue(o)
			}
		}
		if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `"done"` {
			t.Errorf("boundary %d (%v): %+v", n, k.point.Load(), got)
		}
		w.Idle()
		if heard := agent.Heard(); len(heard) != 1 {
			t.Errorf("boundary %d (%v): %d messages", n, k.point.Load(), len(heard))
		}
	})
	return killed
}

// The runner dies when the agent has the message and has not answered. Nothing is sent again unless the agent recognises
// messages by id.
func TestAMessageWithoutAnAnswerIsSentAgainOnlyIfTheAgentKnowsIt(t *testing.T) {
	for name, settings := range peers() {
		for _, safe := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				arrived := make(chan struct{})
				var once sync.Once
				agent := a2atest.Start(t, settings, func(s *a2atest.Stage) {
					first := false
					once.Do(func() { first = true; close(arrived) })
					if first {
						<-s.Ctx.Done() // It has the message and does not answer.
						return
					}
					s.Answer("done")
				})
				servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
					s := remote(t, agent, "idempotent: "+map[bool]string{true: "true", false: "false"}[safe])
					var dead atomic.Bool
					one := start(w, s, app.Deps{Owner: "one", Hook: func(string, string) error {
						if dead.Load() {
							return errKilled
						}
						return nil
					}})
					o := work("desk", "j1", "a", 1)
					state(w, o, true)
					w.Issue(o)
					<-arrived
					dead.Store(true)
					one.Kill()
					start(w, s, app.Deps{Owner: "two"})
					if !safe {
						in := w.Asked(o)
						if in.Kind != events.InputUnknown || len(agent.Heard()) != 1 {
							t.Fatalf("%+v after %d messages", in, len(agent.Heard()))
						}
						o = resumed(o, in.Request, `{"choice":"success","output":"done by phone"}`)
						w.Issue(o)
						if got := w.Report(o); string(got.Output) != `"done by phone"` || len(agent.Heard()) != 1 {
							t.Errorf("%s after %d messages", got.Output, len(agent.Heard()))
						}
						w.Idle()
						return
					}
					if got := w.Report(o); string(got.Output) != `"done"` {
						t.Errorf("%+v", got)
					}
					w.Idle()
					if heard := agent.Heard(); len(heard) != 2 || heard[0].Message.ID != heard[1].Message.ID {
						t.Errorf("%d messages", len(heard))
					}
				})
			})
		}
	}
}

// The same task continues with a person's answer, on another runner.
//
// proves V-weakness-4-run
// proves V-weakness-12-input
func TestARemoteTaskWaitsForAPersonAndGoesOn(t *testing.T) {
	for name, settings := range peers() {
		t.Run(name, func(t *testing.T) {
			agent := a2atest.Start(t, settings, func(s *a2atest.Stage) {
				s.Begin()
				if s.Fresh {
					s.Say(sdk.TaskStateInputRequired, "Which hall?")
					return
				}
				s.Make("r", false, sdk.NewTextPart("hall "+s.Message.Parts[0].Text()))
				s.Say(sdk.TaskStateCompleted, "")
			})
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				s := remote(t, agent, "")
				one := start(w, s, app.Deps{Owner: "one"})
				o := work("desk", "j1", "a", 1)
				w.Issue(o)
				in := w.Asked(o)
				w.Idle()
				if err := one.Stop(); err != nil {
					t.Error(err)
				}
				start(w, s, app.Deps{Owner: "two"})
				o = resumed(o, in.Request, `"2"`)
				w.Issue(o)
				if got := w.Report(o); string(got.Output) != `"hall 2"` {
					t.Errorf("%+v", got)
				}
				w.Idle()
				heard := agent.Heard()
				if len(heard) != 2 || heard[1].Message.TaskID == "" {
					t.Errorf("%d messages", len(heard))
				}
			})
		})
	}
}

// A stop of the job reaches the agent at once, and the run is reported as cancelled.
//
// proves V-weakness-11
func TestAStopReachesTheRemoteAgent(t *testing.T) {
	for name, settings := range peers() {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			var once sync.Once
			agent := a2atest.Start(t, settings, func(s *a2atest.Stage) {
				s.Begin()
				s.Say(sdk.TaskStateWorking, "at it")
				once.Do(func() { close(began) })
				<-s.Ctx.Done()
			})
			w := servicetest.New(t) // In real time, which continues while an agent is listened to.
			start(w, remote(t, agent, ""), app.Deps{Owner: "one"})
			o := work("desk", "j1", "a", 1)
			w.Issue(o)
			<-began
			w.Until("the task is in the journal", func() bool {
				results := 0
				for _, kind := range w.Journal("j1", "a") {
					if kind == events.JournalResult {
						results++
					}
				}
				return results >= 2
			})
			w.Fence(o, "stop")
			musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j1", ""), nil, []byte(`{"reason":"enough"}`)))
			if got := w.Report(o); got.Error == nil || got.Error.Code != events.CodeCancelled {
				t.Errorf("%+v", got)
			}
			w.Idle()
			if len(agent.Cancels()) != 1 {
				t.Errorf("%d cancels", len(agent.Cancels()))
			}
		})
	}
}

func TestACardOfARemoteAgentIsCheckedAndCompleted(t *testing.T) {
	dir := t.TempDir()
	cardFile(t, dir, "1.md", "name: One\nkind: a2a")
	cardFile(t, dir, "2.md", "name: Two\nkind: a2a\na2a:\n  agent: ftp://x\n  mode: fax\n  max_time: -1s")
	cardFile(t, dir, "3.md", "name: Three\nkind: a2a\npure: true\na2a: {agent: 'http://x'}")
	cardFile(t, dir, "4.md", "name: Four\nkind: command\ncommand: [sh]\na2a: {agent: 'http://x'}")
	cardFile(t, dir, "5.md", "name: Five\nkind: a2a\na2a: {card: absent.json}")
	_, err := app.CheckCards([]string{dir}, noEnv)
	for _, want := range []string{"1.md", "a2a.agent", "2.md:5:10", "a2a.mode", "a2a.max_time", "3.md:4:7", "4.md:5:6", "5.md", "a2a.card"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	dir = t.TempDir()
	raw := `{"name":"x","description":"reads the news","url":"http://127.0.0.1:1/","enabled":false,"metadata":{"hidden":true,"planner_passthrough":true}}`
	musttest.Write(t, filepath.Join(dir, "agent.json"), raw)
	cardFile(t, dir, "news.md", "name: News\nkind: a2a\na2a: {card: agent.json}")
	list, err := app.CheckCards([]string{dir}, noEnv)
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	if c := list[0]; c.Name != "News" || c.Description != "reads the news" || !c.Disabled || !c.Hidden || !c.Passthrough {
		t.Errorf("%+v", c)
	}
}

func TestPushNeedsAnAddressOfTheRunner(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Settings{}, func(s *a2atest.Stage) { s.Answer("hi") })
	log := slog.New(slog.DiscardHandler)
	process := host.NewProcess(t.Context(), t.Context(), "expert-runner", host.Settings{}, log) // Without HTTP.
	err := app.Run(t.Context(), process, remote(t, agent, "  mode: push\n  push_url: http://127.0.0.1:1"), app.Deps{})
	if err == nil || !strings.Contains(err.Error(), "a2a.mode: HTTP is off") {
		t.Error(err)
	}
}
