package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// cards returns settings with one card.
func cards(t testing.TB, front string) app.Settings {
	t.Helper()
	s := app.Default()
	s.Experts = []string{cardFile(t, t.TempDir(), "x.md", front)}
	return s
}

// resumed returns the run that the answer to a request of run 1 starts.
func resumed(o events.Work, request, answer string) events.Work {
	o.Run, o.ResumeOf = 2, 1
	o.IdempotencyKey = o.Job + "/" + o.SubJob + "/2"
	o.Answers = map[string]events.InputClosed{request: {Action: events.Answered, Answer: json.RawMessage(answer)}}
	return o
}

// A runner dies at every boundary of a call. A recorded answer is not requested again; a call that may have been made and
// has no answer waits for a person.
func TestACallIsNeverMadeTwiceUnlessTheCardSaysSo(t *testing.T) {
	for _, safe := range []bool{false, true} {
		for _, point := range []string{"intent", "effect", "result", "report", "reported"} {
			t.Run(point, func(t *testing.T) {
				var calls atomic.Int32
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					calls.Add(1)
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"paid":true}`)
				}))
				defer server.Close()
				servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
					s := cards(t, "name: Pay\nkind: http\nurl: "+server.URL+"/pay\nidempotent: "+map[bool]string{true: "true", false: "false"}[safe])
					killed := errors.New("killed")
					died := make(chan struct{})
					var once atomic.Bool
					one := start(w, s, app.Deps{Owner: "one", Hook: func(at, _ string) error {
						if at == point && once.CompareAndSwap(false, true) {
							close(died)
						}
						if once.Load() {
							return killed
						}
						return nil
					}})
					o := work("pay", "j1", "a", 1)
					w.Issue(o)
					state(w, o, true)
					<-died
					one.Kill()
					start(w, s, app.Deps{Owner: "two"})
					if point == "effect" && !safe {
						in := w.Asked(o)
						if in.Kind != events.InputUnknown || calls.Load() != 0 {
							t.Fatalf("%+v after %d calls", in, calls.Load())
						}
						o = resumed(o, in.Request, `{"choice":"success","output":"paid by hand"}`)
						w.Issue(o)
						if got := w.Report(o); string(got.Output) != `"paid by hand"` || calls.Load() != 0 {
							t.Errorf("%+v after %d calls", got, calls.Load())
						}
						w.Idle()
						return
					}
					if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `{"paid":true}` {
						t.Errorf("%+v", got)
					}
					w.Idle()
					if calls.Load() != 1 {
						t.Errorf("%d calls", calls.Load())
					}
				})
			})
		}
	}
}

func TestACallThatBrokeOffIsMadeAgainWhenAPersonSaysSo(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `"done"`)
	}))
	defer server.Close()
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, cards(t, "name: Pay\nkind: http\nurl: "+server.URL+"/pay"), app.Deps{Owner: "one"})
		o := work("pay", "j1", "a", 1)
		w.Issue(o)
		in := w.Asked(o)
		if in.Kind != events.InputUnknown || !strings.Contains(in.Prompt, "broke off") {
			t.Fatalf("%+v", in)
		}
		o = resumed(o, in.Request, `"retry"`)
		w.Issue(o)
		if got := w.Report(o); string(got.Output) != `"\"done\""` || calls.Load() != 2 {
			t.Errorf("%s after %d calls", got.Output, calls.Load())
		}
		w.Idle()
	})
}

func TestManyWaitForPeopleWithoutAMessageOrAGoroutine(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, cards(t, "name: Ada\nkind: human\nuser: ada\nexpires: 48h\ndefault: {n: 0}\noutput_schema: {type: object, required: [n]}"), app.Deps{Owner: "one"})
		const jobs = 100
		for i := range jobs {
			w.Issue(work("ada", "j"+string(rune('A'+i/10))+string(rune('0'+i%10)), "a", 1))
		}
		w.Idle() // Every message is acknowledged while all runs still wait.
		o := work("ada", "jA0", "a", 1)
		in := w.Asked(o)
		if in.Kind != events.InputForm || in.User != "ada" || in.ExpiresIn.Std() != 48*time.Hour || string(in.Default) != `{"n":0}` || !strings.HasPrefix(in.Prompt, "Notes.\ndo it") {
			t.Errorf("%+v", in)
		}
		o = resumed(o, in.Request, `{"n":7}`)
		w.Issue(o)
		if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `{"n":7}` {
			t.Errorf("%+v", got)
		}
		w.Idle()
	})
}

func TestCardsOfServicesAndPeopleAreChecked(t *testing.T) {
	dir := t.TempDir()
	cardFile(t, dir, "1.md", "name: One\nkind: http\nurl: https://{goal}/\nmethod: FETCH")
	cardFile(t, dir, "2.md", "name: Two\nkind: command\ncommand: [sh]\nurl: https://example.com/\nexpires: 1h")
	cardFile(t, dir, "3.md", "name: Three\nkind: http\nurl: https://example.com/\npure: true")
	cardFile(t, dir, "4.md", "name: Four\nkind: human\ndefault: x")
	_, err := app.CheckCards([]string{dir}, noEnv)
	for _, want := range []string{
		"1.md:4:6: url", "1.md:5:9: method", "2.md:5:6: url", "2.md:6:10: expires", "3.md:5:7: pure", "4.md", "expires when",
	} {
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), strings.Replace(want, ": ", " ", 1)) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
