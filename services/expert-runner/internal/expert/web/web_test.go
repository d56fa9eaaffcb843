package web_test

import (
	"context"
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
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// hand makes every effect, and records reports.
type hand struct {
	effects []expert.Effect
	// known is returned instead of making a call, as by a journal.
	known json.RawMessage
}

func (h *hand) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	h.effects = append(h.effects, e)
	if h.known != nil {
		return h.known, nil
	}
	return call(ctx)
}

func (h *hand) Progress(events.SubJobProgressed) {}
func (h *hand) Live([]byte)                      {}

func work() *events.Work {
	return &events.Work{
		Kind: events.WorkExecute, Job: "j1", SubJob: "pay", Run: 1, Attempt: 1, Goal: "Pay & go", IdempotencyKey: "j1/pay/1",
		ReportSubject: "jobs.event.secret", ClaimSubject: "jobs.journal.secret", ItemSubject: "jobs.item.secret", Former: []events.Tenure{{Pool: "secret", Run: 1}}, Lease: events.Duration(time.Second),
		Inputs:  map[string]json.RawMessage{"order": json.RawMessage(`"7/8 ?x"`), "n": json.RawMessage(`3`), "list": json.RawMessage(`[1]`), "up": json.RawMessage(`".."`), "deep": json.RawMessage(`"7/../8"`), "none": json.RawMessage(`""`)},
		Results: map[string]events.Result{"a": {Output: json.RawMessage(`{"city":"Köln"}`)}},
	}
}

func run(t *testing.T, c web.Config, h *hand) task.Ending {
	t.Helper()
	x := musttest.Get(web.New(c))(t)
	return x.Run(t.Context(), &expert.Task{Work: work(), Hand: h})
}

// serve answers each request.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheWorkGoesOutAndTheAnswerIsTheResult(t *testing.T) {
	var got *http.Request
	var body []byte
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"paid": true}`)
	})
	h := &hand{}
	e := run(t, web.Config{URL: at + "/orders/{inputs.order}/{inputs.n}?city={results.a.output.city}&goal={goal}", Headers: map[string]string{"Authorization": "Bearer s3cret"}}, h)
	if e.Report == nil || e.Report.Outcome != events.Success || string(e.Report.Output) != `{"paid":true}` {
		t.Fatalf("%+v", e.Report)
	}
	if got.Method != http.MethodPost || got.URL.EscapedPath() != "/orders/7%2F8%20%3Fx/3" || got.URL.RawQuery != "city=K%C3%B6ln&goal=Pay+%26+go" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	if got.Header.Get("Authorization") != "Bearer s3cret" || got.Header.Get("Idempotency-Key") != "j1/pay/1" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", got.Header)
	}
	if !strings.Contains(string(body), `"goal":"Pay \u0026 go"`) || strings.Contains(string(body), "secret") || strings.Contains(string(body), "lease") {
		t.Errorf("%s", body)
	}
	if len(h.effects) != 1 || h.effects[0].Safe || strings.Contains(string(h.effects[0].Args), "s3cret") || !strings.Contains(string(h.effects[0].Args), `"inputs.n":"3"`) {
		t.Errorf("%+v %s", h.effects, h.effects[0].Args)
	}
}

func TestOneFieldMayBeTheBody(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.Copy(w, r.Body)
	})
	if e := run(t, web.Config{URL: at, Body: "results.a.output"}, &hand{}); string(e.Report.Output) != `{"city":"Köln"}` {
		t.Errorf("%s", e.Report.Output)
	}
	if e := run(t, web.Config{URL: at, Body: "results.b"}, &hand{}); e.Report.Outcome != events.InputDataError {
		t.Errorf("%+v", e.Report)
	}
}

func TestAnAnswerThatIsNoTextIsAFile(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte{0x89, 'P', 0xff, 0})
	})
	r := run(t, web.Config{Method: "get", URL: at}, &hand{}).Report
	if r.OutputRef == nil || r.OutputRef.MediaType != "image/png" || len(r.Output) != 4 {
		t.Errorf("%+v", r)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	type meaning struct {
		Outcome events.Outcome
		Code    events.Code
		Wait    time.Duration
	}
	in, failed, away := events.InputDataError, events.ExecutionError, events.CodeUnavailable
	for name, test := range map[string]struct {
		status int
		retry  string
		place  string
		want   meaning
	}{
		"200":                  {200, "", "", meaning{Outcome: events.Success}},
		"204":                  {204, "", "", meaning{Outcome: events.Success}},
		"304":                  {304, "", "", meaning{failed, events.CodeExecution, 0}},
		"400":                  {400, "9", "", meaning{in, events.CodeInputData, 0}},
		"401":                  {401, "", "", meaning{failed, events.CodeNotPermitted, 0}},
		"403":                  {403, "", "", meaning{failed, events.CodeNotPermitted, 0}},
		"404":                  {404, "", "", meaning{failed, events.CodeExecution, 0}},
		"404 of a place":       {404, "", "/{inputs.n}", meaning{in, events.CodeInputData, 0}},
		"409":                  {409, "", "", meaning{failed, events.CodeExecution, 0}},
		"413":                  {413, "", "", meaning{in, events.CodeInputData, 0}},
		"422":                  {422, "", "", meaning{in, events.CodeInputData, 0}},
		"429 with a wait":      {429, "7", "", meaning{failed, away, 7 * time.Second}},
		"429 with a long wait": {429, "999999", "", meaning{failed, away, 24 * time.Hour}},
		"429 with nonsense":    {429, "soon", "", meaning{failed, away, 0}},
		"500":                  {500, "", "", meaning{failed, away, 0}},
		"503 with a past date": {503, "Mon, 02 Jan 2006 15:04:05 GMT", "", meaning{failed, away, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.retry != "" {
					w.Header().Set("Retry-After", test.retry)
				}
				w.WriteHeader(test.status)
				if test.status == 422 {
					_, _ = io.WriteString(w, "n must be even")
				}
			})
			r := run(t, web.Config{URL: at + test.place}, &hand{}).Report
			got := meaning{Outcome: r.Outcome, Wait: r.RetryAfter.Std()}
			if r.Error != nil {
				got.Code = r.Error.Code
			}
			musttest.Equal(t, test.want, got)
			if test.status == 422 && !strings.Contains(r.Lesson, "n must be even") {
				t.Errorf("lesson %q", r.Lesson)
			}
		})
	}
}

func TestRedirectsStayOnTheHostAndKeepTheMethod(t *testing.T) {
	var other atomic.Int32
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { other.Add(1) })
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/see":
			http.Redirect(w, r, "/end", http.StatusSeeOther)
		case "/moved":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, r.Method)
		}
	})
	for path, want := range map[string]string{"/same": `"POST"`, "/see": `"GET"`, "/moved": "302", "/away": "307", "/round": "307"} {
		r := run(t, web.Config{URL: at + path}, &hand{}).Report
		if r.Outcome == events.Success && string(r.Output) != want || r.Outcome != events.Success && !strings.Contains(r.Error.Message, want) {
			t.Errorf("%s: %s %s %v", path, r.Outcome, r.Output, r.Error)
		}
	}
	if other.Load() != 0 {
		t.Error("the call went to another host")
	}
}

func TestTheWorkCannotLeadTheCallElsewhere(t *testing.T) {
	at := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was called") })
	for _, path := range []string{"/{inputs.up}/x", "/{inputs.deep}", "/{inputs.list}", "/{inputs.none}", "/{inputs.absent}", "/?q={results.b.output}"} {
		r := run(t, web.Config{URL: at + path}, &hand{}).Report
		if r.Outcome != events.InputDataError || r.Error.Hint == "" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestACallThatBrokeOffIsUnknownUnlessItMayBeRepeated(t *testing.T) {
	at := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	half := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	})
	for _, url := range []string{at, half} {
		e := run(t, web.Config{URL: url + "/?token=s3cret"}, &hand{})
		if e.Park == nil || e.Park.Kind != events.InputUnknown || e.Park.Request != "pay~1~unknown" || strings.Contains(e.Park.Prompt, "s3cret") {
			t.Errorf("%+v", e)
		}
		e = run(t, web.Config{URL: url, Safe: true}, &hand{})
		if e.Report == nil || e.Report.Outcome != events.ExecutionError || e.Report.Error.Code != events.CodeUnavailable {
			t.Errorf("%+v", e)
		}
	}
}

func TestACallThatWasNeverSentIsNotUnknown(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	e := run(t, web.Config{URL: s.URL + "/?token=s3cret"}, &hand{})
	if e.Report == nil || e.Report.Error.Code != events.CodeUnavailable || strings.Contains(e.Report.Error.Error(), "s3cret") {
		t.Errorf("%+v", e)
	}
}

func TestAnAnswerHasALimitInTimeAndInSize(t *testing.T) {
	stop := make(chan struct{})
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-stop
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	})
	defer close(stop)
	e := run(t, web.Config{URL: at, Limit: 99}, &hand{})
	if e.Report == nil || e.Report.Error.Code != events.CodeTooLarge {
		t.Errorf("%+v", e.Report)
	}
	if e := run(t, web.Config{URL: at, Limit: 100}, &hand{}); e.Report.Outcome != events.Success {
		t.Errorf("%+v", e.Report)
	}
	e = run(t, web.Config{URL: at + "/slow", Timeout: time.Millisecond, Safe: true}, &hand{})
	if e.Report == nil || !strings.Contains(e.Report.Error.Cause, "within 1ms") {
		t.Errorf("%+v", e.Report)
	}
}

func TestTheEndOfTheRunClosesTheRequest(t *testing.T) {
	closed, called := make(chan struct{}), make(chan struct{})
	at := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(called)
		<-r.Context().Done()
		close(closed)
	})
	x := musttest.Get(web.New(web.Config{URL: at}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-called; cancel() }()
	x.Run(ctx, &expert.Task{Work: work(), Hand: &hand{}})
	<-closed
}

func TestWhatIsKeptIsAnsweredAgain(t *testing.T) {
	for known, want := range map[string]string{
		`{"http":{"status":200,"text":"hello"}}`: `"hello"`,
		`{"invoice":7}`:                          `{"invoice":7}`,
		`"done by hand"`:                         `"done by hand"`,
	} {
		r := run(t, web.Config{URL: "http://127.0.0.1:1"}, &hand{known: json.RawMessage(known)}).Report
		if r.Outcome != events.Success || string(r.Output) != want {
			t.Errorf("%s: %+v", known, r)
		}
	}
}

func TestAWrongCallIsRefusedWithEveryFault(t *testing.T) {
	for name, test := range map[string]struct {
		config web.Config
		want   []string
	}{
		"nothing":             {web.Config{}, []string{"url"}},
		"everything":          {web.Config{Method: "FETCH", URL: "ftp://x", Headers: map[string]string{"a b": "c", "X": "a\nb"}, Timeout: -1, Limit: -1}, []string{"answer_limit", "answer_timeout", "headers.X", "headers.a b", "method", "url"}},
		"a place in the host": {web.Config{URL: "https://{inputs.host}/x"}, []string{"url"}},
		"a place behind it":   {web.Config{URL: "https://example.com{inputs.rest}"}, []string{"url"}},
		"a place in a scheme": {web.Config{URL: "{goal}"}, []string{"url"}},
		"an open place":       {web.Config{URL: "https://example.com/{goal"}, []string{"url"}},
		"a lone brace":        {web.Config{URL: "https://example.com/goal}"}, []string{"url"}},
		"a user":              {web.Config{URL: "https://me:s3cret@example.com/"}, []string{"url"}},
		"a fragment":          {web.Config{URL: "https://example.com/#x"}, []string{"url"}},
		"no URL":              {web.Config{URL: "https://exa mple.com/"}, []string{"url"}},
		"a body of a GET":     {web.Config{Method: "GET", URL: "https://example.com/", Body: "inputs"}, []string{"body"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := web.New(test.config)
			var faults events.Faults
			if !errors.As(err, &faults) || strings.Contains(err.Error(), "s3cret") {
				t.Fatalf("%v", err)
			}
			var fields []string
			for _, f := range faults {
				fields = append(fields, f.Field)
			}
			musttest.Equal(t, test.want, fields)
		})
	}
}

// A service can add spans to the trace of the job.
func TestTheTraceOfTheRunGoesOut(t *testing.T) {
	var got []string
	at := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, strings.Join(r.Header.Values("traceparent"), ","))
	})
	const trace, own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		trace   string
		headers map[string]string
	}{{trace, nil}, {"", nil}, {trace, map[string]string{"Traceparent": own}}} {
		x := musttest.Get(web.New(web.Config{URL: at, Headers: c.headers}))(t)
		x.Run(t.Context(), &expert.Task{Work: work(), Hand: &hand{}, Trace: c.trace})
	}
	musttest.Equal(t, []string{trace, "", own}, got)
}
