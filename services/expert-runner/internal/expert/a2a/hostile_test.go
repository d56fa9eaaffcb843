package a2a_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
)

// rpc is an agent whose answers depend on the method alone.
type rpc struct {
	at    string
	mu    sync.Mutex // Guards calls.
	calls map[string]int
}

func serveRPC(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, method string)) *rpc {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // After the server has closed, no goroutine of ours is left.
	p := &rpc{calls: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			call.Method = r.URL.Path
		}
		p.mu.Lock()
		p.calls[call.Method]++
		p.mu.Unlock()
		answer(w, r, call.Method)
	}))
	t.Cleanup(s.Close)
	p.at = s.URL
	return p
}

func (p *rpc) count(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

func result(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":`+body+`}`)
}

func taskJSON(id, state string) string {
	return fmt.Sprintf(`{"id":%q,"contextId":"c","status":{"state":%q}}`, id, state)
}

// always gives each method the same result. A created task is working.
func always(send, get string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, method string) {
		switch method {
		case "SendMessage":
			result(w, send)
		case "GetTask":
			result(w, get)
		default:
			result(w, taskJSON("t", "TASK_STATE_CANCELED"))
		}
	}
}

func TestAnswersThatCannotBeReadAreTypedAndKept(t *testing.T) {
	begun := `{"task":` + taskJSON("t", "TASK_STATE_WORKING") + `}`
	for name, test := range map[string]struct {
		send, get string
		code      events.Code
		evidence  string
		cancels   int
	}{
		"nothing":                 {`{}`, "", events.CodeMalformed, "{}", 0},
		"two things at once":      {`{"task":{},"message":{}}`, "", events.CodeMalformed, "", 0},
		"a task without an id":    {`{"task":{"status":{"state":"TASK_STATE_WORKING"}}}`, "", events.CodeMalformed, "without an id", 0},
		"a part of nothing":       {`{"message":{"parts":[null]}}`, "", events.CodeMalformed, "", 0},
		"a part of two kinds":     {`{"message":{"parts":[{"text":"a","url":"b"}]}}`, "", events.CodeMalformed, "", 0},
		"an artifact of nothing":  {`{"task":{"id":"t","artifacts":[null],"status":{"state":"TASK_STATE_COMPLETED"}}}`, "", events.CodeMalformed, "", 0},
		"an unknown state":        {`{"task":` + taskJSON("t", "TASK_STATE_PONDERING") + `}`, "", events.CodeMalformed, "pondering", 1},
		"a task that vanishes":    {begun, `null`, events.CodeMalformed, "", 1},
		"another task":            {begun, taskJSON("u", "TASK_STATE_COMPLETED"), events.CodeMalformed, "another task", 1},
		"a state that vanishes":   {begun, `{"id":"t","status":{}}`, events.CodeMalformed, "unspecified", 1},
		"a number in a state":     {begun, `{"id":"t","status":{"state":7}}`, events.CodeMalformed, "", 1},
		"a task that is no task":  {begun, `[]`, events.CodeMalformed, "", 1},
		"a task of many levels":   {begun, strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), events.CodeMalformed, "", 1},
		"text with broken bytes":  {"{\"message\":{\"parts\":[{\"text\":\"\xff\xfe\"}]}}", "", "", "", 0},
		"an endless id":           {`{"task":` + taskJSON(strings.Repeat("t", 5000), "TASK_STATE_WORKING") + `}`, "", events.CodeMalformed, "longer", 0},
		"a state with a new line": {begun, taskJSON("t", "TASK\nSTATE"), events.CodeMalformed, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := serveRPC(t, always(test.send, test.get))
			e := runWork(t, a2a.Config{Card: cardAt(p.at)}, &hand{}, work())
			if test.code == "" {
				succeeded(t, e, `"��"`)
				return
			}
			failed(t, e, test.code, test.evidence)
			if n := p.count("CancelTask"); n != test.cancels {
				t.Errorf("%d cancels", n)
			}
			if n := p.count("SendMessage"); n != 1 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

func TestWhatIsNoA2AIsTypedWithItsEvidence(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		code   events.Code
		word   string
		wait   time.Duration
	}{
		"a page":              {200, "<html>hello</html>", events.CodeMalformed, "<html>hello", 0},
		"half an answer":      {200, `{"jsonrpc":"2.0","result":{`, events.CodeMalformed, `"result":{`, 0},
		"no right":            {401, "who are you", events.CodeNotPermitted, "who are you", 0},
		"no such path":        {404, "", events.CodeExecution, "404", 0},
		"busy":                {429, "", events.CodeUnavailable, "429", 7 * time.Second},
		"down":                {503, "", events.CodeUnavailable, "503", 7 * time.Second},
		"an error of a kind":  {200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad params","data":{"any":"thing"}}}`, events.CodeExecution, "bad params", 0},
		"an error in a 500":   {500, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"oops"}}`, events.CodeExecution, "oops", 0},
		"an unknown task":     {200, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"gone"}}`, events.CodeNotFound, "gone", 0},
		"a wrong JSON-RPC id": {200, `{"jsonrpc":"2.0","id":{"a":1},"result":{}}`, events.CodeMalformed, "", 0},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				p := serveRPC(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
				})
				c := a2a.Config{Card: cardAt(p.at)}
				if streaming {
					c.Mode = a2a.ModeStream
				}
				e := runWork(t, c, &hand{}, work())
				failed(t, e, test.code, test.word)
				if e.Report.RetryAfter.Std() != test.wait {
					t.Errorf("wait %s", e.Report.RetryAfter.Std())
				}
			})
		}
	}
}

// Answers after the first end of a task change nothing.
//
// proves V-weakness-1
func TestTheFirstEndOfATaskCounts(t *testing.T) {
	p := serveRPC(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"task":` + taskJSON("t", "TASK_STATE_WORKING") + `}`,
			`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"first"}]}}}`,
			`{"artifactUpdate":{"taskId":"other","artifact":{"artifactId":"a","parts":[{"text":"foreign"}]}}}`,
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`,
			`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"second"}]}}}`,
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_FAILED"}}}`,
		} {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":%s}\n\n", event)
		}
	})
	succeeded(t, runWork(t, a2a.Config{Card: cardAt(p.at), Mode: a2a.ModeStream}, &hand{}, work()), `"first"`)
}

// A failed task stays failed and is reported once, whatever the agent sends later.
// proves V-weakness-1
func TestATaskThatHasFailedIsNotCompleted(t *testing.T) {
	p := serveRPC(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"task":` + taskJSON("t", "TASK_STATE_WORKING") + `}`,
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"out of paper"}]}}}}`,
			`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"all is well"}]}}}`,
			`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		} {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":%s}\n\n", event)
		}
	})
	h := &hand{}
	e := runWork(t, a2a.Config{Card: cardAt(p.at), Mode: a2a.ModeStream}, h, work())
	failed(t, e, events.CodeExecution, "out of paper")
	if e.Report.Outcome != events.ExecutionError || len(e.Report.Output) > 0 {
		t.Errorf("%s", shown(e))
	}
	again := runWork(t, a2a.Config{Card: cardAt(p.at), Mode: a2a.ModeStream}, h, work()) // From the journal.
	failed(t, again, events.CodeExecution, "out of paper")
	if n := p.count("SendStreamingMessage"); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// An agent that never ends its task is ended here.
func TestAnAgentWithoutEndIsEnded(t *testing.T) {
	work0 := `{"task":` + taskJSON("t", "TASK_STATE_WORKING") + `}`
	endless := func(event string) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, method string) {
			if method == "CancelTask" {
				result(w, taskJSON("t", "TASK_STATE_CANCELED"))
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for first := true; r.Context().Err() == nil; first = false {
				e := event
				if first {
					e = work0
				}
				if _, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"result\":%s}\n\n", e); err != nil {
					return
				}
			}
		}
	}
	more := `{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", 1000) + `"}]}}}`
	working := always(work0, taskJSON("t", "TASK_STATE_WORKING"))
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, string)
		config a2a.Config
		code   events.Code
	}{
		"events without end": {endless(more), a2a.Config{Mode: a2a.ModeStream, MaxEvents: 500}, events.CodeTooLarge},
		"bytes without end":  {endless(more), a2a.Config{Mode: a2a.ModeStream, MaxBytes: 100_000}, events.CodeTooLarge},
		"others' events":     {endless(`{"statusUpdate":{"taskId":"u","status":{"state":"TASK_STATE_WORKING"}}}`), a2a.Config{Mode: a2a.ModeStream, MaxEvents: 500}, events.CodeTooLarge},
		"a task without end": {working, a2a.Config{MaxTime: 300 * time.Millisecond}, events.CodeTimeout},
		"a giant artifact":   {always(work0, `{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"`+strings.Repeat("x", 200_000)+`"}]}]}`), a2a.Config{MaxBytes: 100_000}, events.CodeTooLarge},
		"a line without end": {func(w http.ResponseWriter, r *http.Request, m string) {
			if m == "CancelTask" {
				result(w, taskJSON("t", "TASK_STATE_CANCELED"))
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"result\":%s}\n\ndata: ", work0)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("y", 4096)); err != nil {
					return
				}
			}
		}, a2a.Config{Mode: a2a.ModeStream, MaxBytes: 1 << 20}, events.CodeTooLarge},
		"a stream without a word": {func(w http.ResponseWriter, r *http.Request, method string) {
			switch method {
			case "CancelTask":
				result(w, taskJSON("t", "TASK_STATE_CANCELED"))
				return
			case "GetTask":
				result(w, taskJSON("t", "TASK_STATE_WORKING"))
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			if method == "SendStreamingMessage" {
				_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"result\":%s}\n\n", work0)
			}
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, a2a.Config{Mode: a2a.ModeStream, AnswerTimeout: 30 * time.Millisecond, MaxTime: 400 * time.Millisecond}, events.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			p := serveRPC(t, test.answer)
			test.config.Card = cardAt(p.at)
			failed(t, runWork(t, test.config, &hand{}, work()), test.code, "")
			if n := p.count("CancelTask"); n != 1 {
				t.Errorf("told %d times to end", n)
			}
			if n := p.count("SendMessage") + p.count("SendStreamingMessage"); n != 1 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

func TestAnAgentThatNeverAnswersIsUnknown(t *testing.T) {
	p := serveRPC(t, func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() })
	e := runWork(t, a2a.Config{Card: cardAt(p.at), AnswerTimeout: 30 * time.Millisecond}, &hand{}, work())
	if e.Park == nil || e.Park.Kind != events.InputUnknown || !strings.Contains(e.Park.Prompt, "silent for too long") {
		t.Fatal(shown(e))
	}
}

func TestATaskThatIsForgottenIsTyped(t *testing.T) {
	p := serveRPC(t, func(w http.ResponseWriter, _ *http.Request, method string) {
		if method == "SendMessage" {
			result(w, `{"task":`+taskJSON("t", "TASK_STATE_WORKING")+`}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"task not found"}}`)
	})
	failed(t, runWork(t, a2a.Config{Card: cardAt(p.at)}, &hand{}, work()), events.CodeNotFound, "task not found")
	if n := p.count("CancelTask"); n != 0 {
		t.Errorf("%d cancels of a task that is gone", n)
	}
}

// Spec 0.3 does not define the data of an error.
func TestAnErrorInAStreamOfAnOldAgentIsReportedWithItsData(t *testing.T) {
	for _, data := range []string{`{"field":"parts"}`, `[{"field":"parts"}]`} {
		p := serveRPC(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","error":{"code":-31403,"message":"not you","data":`+data+"}}\n\n")
		})
		card := map[string]any{"name": "x", "protocolVersion": "0.3.0", "url": p.at + "/call", "preferredTransport": "JSONRPC"}
		e := runWork(t, a2a.Config{Card: card, Mode: a2a.ModeStream}, &hand{}, work())
		failed(t, e, events.CodeNotPermitted, "not you")
		failed(t, e, events.CodeNotPermitted, "map[field:parts]")
	}
}

func TestAnAgentThatIsBusyIsAskedLater(t *testing.T) {
	var asked atomic.Int32
	p := serveRPC(t, func(w http.ResponseWriter, _ *http.Request, method string) {
		switch {
		case method == "SendMessage":
			result(w, `{"task":`+taskJSON("t", "TASK_STATE_WORKING")+`}`)
		case asked.Add(1) < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			result(w, `{"id":"t","status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"yes"}]}}}`)
		}
	})
	succeeded(t, runWork(t, a2a.Config{Card: cardAt(p.at)}, &hand{}, work()), `"yes"`)
}

// Addresses from an agent are not fetched, and secrets go only to their own host.
func TestAnAgentCannotLeadTheRunnerElsewhere(t *testing.T) {
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	p := serveRPC(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, inner.URL+"/call", http.StatusTemporaryRedirect)
	})
	failed(t, runWork(t, a2a.Config{Card: cardAt(p.at)}, &hand{}, work()), events.CodeExecution, "307")
	// A fetched card may not lead to a non-public address.
	card := musttest.Get(json.Marshal(cardAt(inner.URL)))(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(card) }))
	defer front.Close()
	failed(t, runWork(t, a2a.Config{Agent: front.URL}, &hand{}, work()), events.CodeUnavailable, "allow_addresses")
	if reached.Load() != 0 {
		t.Fatal("the runner was led elsewhere")
	}
	// If it is allowed, it is called without the secrets of the other host.
	var header http.Header
	inner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		result(w, `{"message":{"parts":[{"text":"hi"}]}}`)
	})
	c := a2a.Config{Agent: front.URL, AllowAddresses: []string{"127.0.0.0/8", "::1"}, Headers: map[string]string{"Authorization": "Bearer s3cret"}}
	succeeded(t, runWork(t, c, &hand{}, work()), `"hi"`)
	if header.Get("Authorization") != "" {
		t.Error("the secret went to another host")
	}
}
