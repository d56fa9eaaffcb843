package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// agent gives the same answer to every request and remembers the last request.
type agent struct {
	status int
	body   string
	// broken is the error at the end of the body, if it has one.
	broken error
	header http.Header
	asked  map[string]any
	closed bool
}

// RoundTrip implements http.RoundTripper.
func (a *agent) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.header, a.asked = r.Header, nil
	if err := json.Unmarshal(raw, &a.asked); err != nil {
		return nil, err
	}
	delete(a.asked, "id") // It is random.
	var body io.Reader = strings.NewReader(a.body)
	if a.broken != nil {
		body = io.MultiReader(body, failing{a.broken})
	}
	return &http.Response{
		StatusCode: a.status, Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Header: http.Header{}, Request: r, Body: &closing{body, a},
	}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type closing struct {
	io.Reader
	agent *agent
}

func (c *closing) Close() error {
	c.agent.closed = true
	return nil
}

// calls are what both transports support.
type calls interface {
	SendMessage(context.Context, a2aclient.ServiceParams, *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	SendStreamingMessage(context.Context, a2aclient.ServiceParams, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error]
	SubscribeToTask(context.Context, a2aclient.ServiceParams, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error]
	GetTask(context.Context, a2aclient.ServiceParams, *a2a.GetTaskRequest) (*a2a.Task, error)
	CancelTask(context.Context, a2aclient.ServiceParams, *a2a.CancelTaskRequest) (*a2a.Task, error)
	CreateTaskPushConfig(context.Context, a2aclient.ServiceParams, *a2a.PushConfig) (*a2a.PushConfig, error)
}

// methods lists the methods of all calls.
var methods = []string{methodSend, methodStream, methodResubscribe, methodGet, methodCancel, methodSetPush}

func streams(method string) bool { return method == methodStream || method == methodResubscribe }

// call makes the call for a method and passes its answers on.
func call(ctx context.Context, c calls, method string, yield func(any, error)) {
	params := a2aclient.ServiceParams{
		a2a.SvcParamVersion: {"0.3"}, strings.ToLower(a2a.SvcParamExtensions): {"https://x/e", "https://x/f"}, "User-Agent": {"jobgraph"}, "Idempotency-Key": {"k"},
	}
	two := 2
	switch method {
	case methodSend:
		yield(c.SendMessage(ctx, params, sent()["all of it"]))
	case methodStream:
		for e, err := range c.SendStreamingMessage(ctx, params, sent()["push"]) {
			yield(e, err)
		}
	case methodResubscribe:
		for e, err := range c.SubscribeToTask(ctx, params, &a2a.SubscribeToTaskRequest{Tenant: "x", ID: "t"}) {
			yield(e, err)
		}
	case methodGet:
		yield(c.GetTask(ctx, params, &a2a.GetTaskRequest{Tenant: "x", ID: "t", HistoryLength: &two}))
	case methodCancel:
		yield(c.CancelTask(ctx, params, &a2a.CancelTaskRequest{Tenant: "x", ID: "t", Metadata: map[string]any{"k": 1.0}}))
	case methodSetPush:
		yield(c.CreateTaskPushConfig(ctx, params, &a2a.PushConfig{TaskID: "t", URL: "https://x", Token: "s"}))
	}
}

// outcome is the result of a call: its request, its answers, and the final error.
type outcome struct {
	Header  http.Header
	Asked   map[string]any
	Answers []any
	Closed  bool
	Failed  bool
	// Denied is the error in the agent's answer.
	Denied *denial
	// Status and Broken tell whether the error is the HTTP status, or comes from the end of the body.
	Status, Broken bool
}

type denial struct {
	Cause, Message string
	Details        map[string]any
}

var errBroken = errors.New("the connection broke")

func outcomeOf(ctx context.Context, transport func(*http.Client) calls, a agent, method string) *outcome {
	o := &outcome{}
	call(ctx, transport(&http.Client{Transport: &a}), method, func(answer any, err error) {
		if err == nil {
			o.Answers = append(o.Answers, answer)
			return
		}
		var denied *a2a.Error
		if errors.As(err, &denied) {
			o.Denied = &denial{denied.Err.Error(), denied.Message, denied.Details}
		}
		o.Failed, o.Status, o.Broken = true, strings.Contains(err.Error(), "unexpected HTTP status"), errors.Is(err, errBroken)
	})
	o.Header, o.Asked, o.Closed = a.header, a.asked, a.closed
	return o
}

func ours(c *http.Client) calls { return NewTransport("http://agent/call", c) }

// same compares outcomes.
func same(t *testing.T, a agent, method string) *outcome {
	t.Helper()
	want, got := outcomeOf(t.Context(), func(c *http.Client) calls {
		return a2av0.NewJSONRPCTransport(a2av0.JSONRPCTransportConfig{URL: "http://agent/call", Client: c})
	}, a, method), outcomeOf(t.Context(), ours, a, method)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-SDK +ours:\n%s", diff)
	}
	return got
}

const result = `{"jsonrpc":"2.0","id":"1","result":%s}`

func between(first, last int) []int {
	var list []int
	for code := first; code <= last; code++ {
		list = append(list, code)
	}
	return list
}

// The SDK's own transport is the reference for each call: request, headers, answer, class of the error, and that the body
// is closed.
func TestACallIsMadeAsTheSDKMakesIt(t *testing.T) {
	list := map[string]string{
		"a page":               "<html>hello</html>",
		"an id that is none":   `{"jsonrpc":"2.0","id":{"a":1},"result":{}}`,
		"no result":            `{"jsonrpc":"2.0","id":"1"}`,
		"a push configuration": fmt.Sprintf(result, `{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://x","token":"s","authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}}`),
		"no schemes":           fmt.Sprintf(result, `{"taskId":"t","pushNotificationConfig":{"url":"https://x","authentication":{}}}`),
		"two values":           fmt.Sprintf(result, `{"kind":"task","id":"t"}`) + "trailing",
		"an unknown code":      `{"id":"1","error":{"code":-1,"message":"no"}}`,
		"no message":           `{"id":"1","error":{"code":-32001}}`,
		"details":              `{"id":"1","error":{"code":-32602,"message":"no","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"X"},{"a":1},{"b":2}]}}`,
		"only a reason":        `{"id":"1","error":{"code":-32602,"message":"no","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"X"}]}}`,
	}
	for name, event := range told() {
		list[name] = fmt.Sprintf(result, strings.ReplaceAll(event, "\n", ""))
	}
	for _, code := range slices.Concat([]int{-32700, -32600, -32601, -32602, -32603, -32604, -31400, -31401, -31402, -31403, 0}, between(-32010, -32000)) {
		list[fmt.Sprintf("error %d", code)] = fmt.Sprintf(`{"id":"1","error":{"code":%d,"message":"no"}}`, code)
	}
	for name, body := range list {
		for _, method := range methods {
			t.Run(name+" "+method, func(t *testing.T) {
				a := agent{status: http.StatusOK, body: body}
				if streams(method) {
					a.body = "data: " + body + "\n\n"
				}
				if got := same(t, a, method); got.Asked["method"] != method || !got.Closed {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

func TestAnAnswerThatIsNoSuccessIsAnError(t *testing.T) {
	for _, status := range []int{http.StatusCreated, http.StatusNoContent, http.StatusBadRequest, http.StatusInternalServerError} {
		for _, method := range methods {
			if got := same(t, agent{status: status, body: "{}"}, method); !got.Status || !got.Closed || len(got.Answers) > 0 {
				t.Errorf("%d %s: %+v", status, method, got)
			}
		}
	}
}

func TestABodyThatBreaksIsAnErrorBehindWhatItHeld(t *testing.T) {
	event := "data: " + fmt.Sprintf(result, `{"kind":"message","messageId":"m","parts":[]}`) + "\n"
	for _, method := range methods {
		got := same(t, agent{status: http.StatusOK, body: event, broken: errBroken}, method)
		if streams(method) && (len(got.Answers) != 1 || !got.Broken) {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

func TestAStreamIsReadLineByLine(t *testing.T) {
	event := fmt.Sprintf(result, `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"}}`)
	for name, test := range map[string]struct {
		body string
		told int
	}{
		"nothing":                 {"", 0},
		"comments and ids":        {": hello\nid: 7\nevent: x\ndata: " + event + "\n\n: bye\n", 1},
		"no space":                {"data:" + event + "\n\ndata:" + event + "\n\n", 2},
		"CRLF":                    {"data: " + event + "\r\n\r\ndata: " + event + "\r\n\r\n", 2},
		"no empty lines":          {"data: " + event + "\ndata: " + event, 2},
		"what is behind trash":    {"data: " + event + "\n\ndata: {\n\ndata: " + event + "\n\n", 1},
		"what is behind an error": {"data: " + event + "\n\ndata: " + `{"id":"1","error":{"code":-32001,"message":"no"}}` + "\n\ndata: " + event + "\n\n", 1},
		"a long line":             {"data: " + event + strings.Repeat(" ", maxLine/2) + "\n", 1},
		"a line that is too long": {"data: " + event + "\ndata: " + event + strings.Repeat(" ", maxLine), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := same(t, agent{status: http.StatusOK, body: test.body}, methodStream); len(got.Answers) != test.told {
				t.Errorf("%d events, want %d", len(got.Answers), test.told)
			}
		})
	}
}

// Spec 0.3 allows any data in an error. The SDK accepts only a list of objects and loses the whole error otherwise.
func TestTheDataOfAnErrorMayBeAnything(t *testing.T) {
	for data, want := range map[string]map[string]any{
		`{"field":"parts"}`: {"field": "parts"}, `"text"`: nil, `7`: nil, `null`: nil, `[null]`: nil, `["text"]`: nil, `[]`: nil,
	} {
		for _, method := range methods {
			body := `{"id":"1","error":{"code":-32602,"message":"bad","data":` + data + `}}`
			if streams(method) {
				body = "data: " + body
			}
			got := outcomeOf(t.Context(), ours, agent{status: http.StatusOK, body: body}, method)
			wanted := &denial{a2a.ErrInvalidParams.Error(), "bad", want}
			if diff := cmp.Diff(wanted, got.Denied, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %s: -want +got:\n%s", data, method, diff)
			}
		}
	}
}

func TestAReaderThatStopsClosesTheStream(t *testing.T) {
	event := "data: " + fmt.Sprintf(result, `{"kind":"message","messageId":"m","parts":[]}`) + "\n\n"
	a := agent{status: http.StatusOK, body: strings.Repeat(event, 3)}
	for range ours(&http.Client{Transport: &a}).SubscribeToTask(t.Context(), nil, &a2a.SubscribeToTaskRequest{ID: "t"}) {
		break
	}
	if !a.closed {
		t.Error("the body is open")
	}
}
