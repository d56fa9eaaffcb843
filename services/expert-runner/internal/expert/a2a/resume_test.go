package a2a_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// A runner dies when the id of the task is in its journal and nothing else: the next runner follows the same task.
//
// proves V-weakness-12-remote
func TestATaskThatIsKnownIsFollowedAndNothingSentTwice(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			finish := make(chan struct{})
			agent := a2atest.Start(t, w.agent, func(s *a2atest.Stage) {
				s.Begin()
				s.Say(sdk.TaskStateWorking, "at it")
				select {
				case <-finish:
					s.Make("r", false, sdk.NewTextPart("done"))
					s.Say(sdk.TaskStateCompleted, "")
				case <-s.Ctx.Done():
				}
			})
			c := a2a.Config{Agent: agent.URL, Mode: w.mode}
			h := &hand{}
			lost(t, c, h)
			close(finish)
			succeeded(t, runWork(t, c, h, work()), `"done"`)
			if n := len(agent.Heard()); n != 1 {
				t.Errorf("%d messages", n)
			}
			// Everything is in the journal now: a third runner does not need the agent.
			before := agent.Calls()
			succeeded(t, runWork(t, c, h, work()), `"done"`)
			if n := agent.Calls() - before; n != 0 {
				t.Errorf("%d calls for a task that has ended", n)
			}
		})
	}
}

// A connection that breaks while the agent works is reopened; the message is not sent again.
func TestABrokenStreamCostsAQuestionAndNoSecondMessage(t *testing.T) {
	for _, old := range []bool{false, true} {
		var broken atomic.Bool
		agent := a2atest.Start(t, a2atest.Settings{Old: old, Streaming: true}, func(s *a2atest.Stage) {
			s.Begin()
			s.Say(sdk.TaskStateWorking, "at it")
			for !broken.Load() {
				select {
				case <-s.Ctx.Done():
					return
				case <-time.After(time.Millisecond):
				}
			}
			s.Make("r", false, sdk.NewTextPart("done"))
			s.Say(sdk.TaskStateCompleted, "")
		})
		c := a2a.Config{Agent: cutter(t, agent.URL, &broken)}
		succeeded(t, runWork(t, c, &hand{}, work()), `"done"`)
		if n := len(agent.Heard()); n != 1 || !broken.Load() {
			t.Errorf("%d messages, broken %v", n, broken.Load())
		}
	}
}

// cutter is a proxy before an agent that cuts the first stream after its first event.
func cutter(t *testing.T, behind string, broken *atomic.Bool) string {
	t.Helper()
	to := musttest.Get(url.Parse(behind))(t)
	var front *httptest.Server
	proxy := &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	proxy.ModifyResponse = func(r *http.Response) error {
		switch {
		case strings.HasSuffix(r.Request.URL.Path, ".json"):
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			r.Header.Del("Content-Length")
			r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(strings.ReplaceAll(string(raw), behind, front.URL)))
		case r.Header.Get("Content-Type") == "text/event-stream" && !broken.Load():
			r.Body = &oneEvent{ReadCloser: r.Body, broken: broken}
		}
		return nil
	}
	front = httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

// oneEvent is a stream that breaks after the first read.
type oneEvent struct {
	io.ReadCloser
	read   bool
	broken *atomic.Bool
}

func (o *oneEvent) Read(p []byte) (int, error) {
	if o.read {
		o.broken.Store(true)
		return 0, io.ErrUnexpectedEOF
	}
	n, err := o.ReadCloser.Read(p)
	o.read = strings.Contains(string(p[:n]), "data:")
	return n, err
}

// dropper accepts a message and breaks the connection a number of times; then it answers.
func dropper(t *testing.T, times int) (at string, ids func() []string) {
	t.Helper()
	var mu sync.Mutex // Guards the ids that came.
	var came []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Params struct {
				Message struct {
					ID string `json:"messageId"`
				} `json:"message"`
			} `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			panic(err)
		}
		mu.Lock()
		came = append(came, call.Params.Message.ID)
		n := len(came)
		mu.Unlock()
		if n <= times {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(came)
	}
}

func TestAMessageThatWasCutOffIsUnknown(t *testing.T) {
	at, ids := dropper(t, 1)
	h := &hand{}
	e := runWork(t, a2a.Config{Card: cardAt(at)}, h, work())
	if e.Park == nil || e.Park.Kind != events.InputUnknown || len(ids()) != 1 {
		t.Fatal(shown(e))
	}
	// A person decides to send it again: it is the same message.
	succeeded(t, runWork(t, a2a.Config{Card: cardAt(at)}, h, resumed(e.Park.Request, `"retry"`)), `"hi"`)
	if len(ids()) != 2 || ids()[0] != ids()[1] {
		t.Errorf("%v", ids())
	}
}

func TestAMessageThatTheAgentKnowsByItsIDIsSentAgain(t *testing.T) {
	at, ids := dropper(t, 2)
	succeeded(t, runWork(t, a2a.Config{Card: cardAt(at), Safe: true}, &hand{}, work()), `"hi"`)
	if len(ids()) != 3 || ids()[0] != ids()[1] || ids()[1] != ids()[2] {
		t.Errorf("%v", ids())
	}
	at, ids = dropper(t, 99)
	failed(t, runWork(t, a2a.Config{Card: cardAt(at), Safe: true}, &hand{}, work()), events.CodeUnavailable, "")
	if len(ids()) != 3 {
		t.Errorf("%v", ids())
	}
}

func TestWhatAPersonDeclaresIsTheResult(t *testing.T) {
	h := &hand{results: map[string]json.RawMessage{"a2a/1/1/send": json.RawMessage(`{"by":"hand"}`)}}
	succeeded(t, runWork(t, a2a.Config{Card: cardAt("http://127.0.0.1:1")}, h, work()), `{"by":"hand"}`)
}

func TestAMessageThatNeverLeftIsNotUnknown(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	failed(t, runWork(t, a2a.Config{Card: cardAt(s.URL)}, &hand{}, work()), events.CodeUnavailable, "not sent")
}

// cardAt returns the card of an agent of spec 1.0 that answers at once.
func cardAt(at string) map[string]any {
	return map[string]any{"name": "x", "supportedInterfaces": []any{map[string]any{"url": at + "/call", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}}}
}
