package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/webhook"
)

// The secrets of the tests.
const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	later  = "whsec_plJ3nmyCDGBKInavdOK15jsl2LaLaSwMfKQ9r8GK"
)

// got is a request as a target saw it.
type got struct {
	At     time.Time
	ID     string
	Target string
	Body   verb.Notice

	header http.Header
	body   []byte
}

// site plays the servers of the targets.
type site struct {
	*servicetest.Env
	answer func(n int, g got) *http.Response // n counts the requests from 1.
	came   chan got
	told   chan webhook.Outcome

	mu    sync.Mutex // Guards count.
	count int
}

func status(code int, header ...string) *http.Response {
	r := &http.Response{StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), Header: http.Header{}, Body: http.NoBody}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// RoundTrip implements http.RoundTripper.
func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := s.fits(body); err != nil {
		s.Errorf("%s does not fit the schema of a notice: %v", body, err)
	}
	g := got{At: time.Now(), ID: r.Header.Get("webhook-id"), Target: r.URL.Host, header: r.Header, body: body}
	if err := json.Unmarshal(body, &g.Body); err != nil {
		s.Errorf("%s: %v", body, err)
	}
	s.mu.Lock()
	s.count++
	n := s.count
	s.mu.Unlock()
	s.came <- g
	answer := s.answer(n, g)
	if answer == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return answer, nil
}

// fits checks a body against the schema in the description of the API.
func (s *site) fits(body []byte) error {
	text, _ := verb.Schema("Notice")
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("notice", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("notice")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// run starts a gateway's sender, which follows the log when run returns; stop ends it.
func (s *site) run(b *bus.Bus, targets ...webhook.Target) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- webhook.Run(ctx, webhook.Settings{
			Bus: b, Targets: targets, Agent: "jobgraph/test", Transport: s, Log: slog.New(slog.DiscardHandler),
			Told: func(_ string, o webhook.Outcome, _ error) { s.told <- o },
		})
	}()
	for _, t := range targets {
		s.Until("the log is followed", func() bool {
			facts, err := s.Bus.Queues().Info(s.Context(), s.Names.Log, "webhook-"+t.Name)
			return err == nil && facts.Waiting > 0
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	s.Cleanup(stop)
	return stop
}

func target(name string) webhook.Target {
	return webhook.Target{Name: name, URL: "https://" + name + ".example.org/hook", Secrets: []host.Secret{secret}}
}

// asked publishes a request with a question, ended the end of a job.
func (s *site) asked(job string, r events.Request) {
	s.Tell(events.Event{Kind: events.KindJobRequested, Job: job, Data: &events.JobRequested{Request: r, Rules: events.Rules{Version: events.RulesVersion}}})
}

func (s *site) ended(job string) {
	s.Tell(events.Event{Kind: events.KindJobFinished, Job: job, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`"done"`), DurationMS: 7}})
}

func virtual(t *testing.T, f func(s *site)) {
	t.Helper()
	servicetest.Virtual(t, func(_ *testing.T, e *servicetest.Env) {
		f(&site{Env: e, came: make(chan got, 1000), told: make(chan webhook.Outcome, 1000), answer: func(int, got) *http.Response { return status(http.StatusNoContent) }})
	})
}

func TestATargetIsToldOfEndsAndQuestionsWithASignature(t *testing.T) {
	virtual(t, func(s *site) {
		s.ended("old") // Before the target existed.
		both := target("ops")
		both.Secrets = append(both.Secrets, later)
		s.run(s.Server.Bus("one"), both)
		s.asked("j1", events.Request{Goal: "count", User: "anna", Session: "s", Labels: map[string]string{"team": "a"}})
		s.Tell(events.Event{Kind: events.KindInputRequested, Job: "j1", SubJob: "pay", Run: 1, Data: &events.InputRequested{Request: "q1", Kind: events.InputApproval, Prompt: "pay?", ExpiresIn: events.Duration(time.Hour)}})
		s.Tell(events.Event{Kind: events.KindInputRequested, Job: "j1", SubJob: "pay", Run: 2, Data: &events.InputRequested{Request: "q2", Kind: events.InputTimer}})
		question := servicetest.Next(s.Env, s.came)
		s.ended("j1")
		end := servicetest.Next(s.Env, s.came)
		job := verb.NoticedJob{ID: "j1", Goal: "count", User: "anna", Session: "s", Labels: map[string]string{"team": "a"}}
		for _, test := range []struct {
			got  got
			kind events.Kind
			want string
		}{
			{question, events.KindInputRequested, `"question":{"job_id":"j1","request":"q1","subjob":"pay","kind":"approval","prompt":"pay?","expires":"` + question.Body.Timestamp.Add(time.Hour).Format(time.RFC3339Nano) + `"}`},
			{end, events.KindJobFinished, `"end":{"status":"FINISHED","turn":0,"cause":0,"result":"done","duration_ms":7}`},
		} {
			m := test.got.Body
			if diff := cmp.Diff(job, m.Data.Job); diff != "" || m.Type != test.kind || !strings.Contains(string(test.got.body), test.want) || test.got.ID != fmt.Sprintf("j1-%d", m.Data.Seq) {
				s.Errorf("%s %s, want %s\n%s", test.got.ID, test.got.body, test.want, diff)
			}
			for _, key := range []string{secret, later} {
				verifier, err := webhooks.NewWebhook(key)
				if err == nil {
					err = verifier.Verify(test.got.body, test.got.header)
				}
				if err != nil {
					s.Errorf("signature: %v", err)
				}
			}
			if agent, media := test.got.header.Get("User-Agent"), test.got.header.Get("Content-Type"); agent != "jobgraph/test" || media != "application/json" {
				s.Errorf("agent %q, content type %q", agent, media)
			}
		}
	})
}

func TestATargetIsToldWhatItAskedFor(t *testing.T) {
	virtual(t, func(s *site) {
		chosen, some := target("chosen"), target("some")
		chosen.OnRequest = true
		some.Events = []string{string(events.KindJobFailed)}
		s.run(s.Server.Bus("one"), chosen, some)
		for job, label := range map[string]string{"a": "", "b": "chosen", "c": "some"} {
			s.asked(job, events.Request{Goal: "x", Labels: map[string]string{webhook.Label: label}})
			s.ended(job)
		}
		s.Tell(events.Event{Kind: events.KindJobFailed, Job: "d", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Failed}}})
		list := []string{}
		for range 2 {
			g := servicetest.Next(s.Env, s.came)
			list = append(list, g.Target+" "+g.Body.Data.Job.ID)
		}
		slices.Sort(list)
		if want := []string{"chosen.example.org b", "some.example.org d"}; !slices.Equal(list, want) {
			s.Errorf("%v, want %v", list, want)
		}
		s.quiet()
	})
}

// quiet fails the test if anything more is sent within an hour.
func (s *site) quiet() {
	s.Helper()
	select {
	case g := <-s.came:
		s.Errorf("sent: %s %s", g.ID, g.body)
	case <-time.After(time.Hour):
	}
}

// A notice that a target does not accept is tried again at growing intervals, then becomes a dead letter, which can be sent again.
func TestANoticeThatIsNeverTakenIsSetAside(t *testing.T) {
	virtual(t, func(s *site) {
		s.answer = func(n int, _ got) *http.Response {
			if n <= 10 {
				return status(http.StatusInternalServerError)
			}
			return status(http.StatusOK)
		}
		s.run(s.Server.Bus("one"), target("ops"))
		s.ended("j1")
		first := servicetest.Next(s.Env, s.came)
		last := first.At
		for at, least := range []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour} {
			g := wait(s, s.came, 12*time.Hour)
			if gap := g.At.Sub(last); g.ID != first.ID || string(g.body) != string(first.body) || gap < least || gap > least+least/8+2*time.Second {
				s.Errorf("attempt %d of %s %v later, want %v of %s", at+2, g.ID, gap, least, first.ID)
			}
			last = g.At
		}
		letters := client.New(s.Bus).DeadLetters()
		s.Until("it is set aside", func() bool { list, err := letters.List(s.Context()); return err == nil && len(list) == 1 })
		s.Until("nothing waits", func() bool {
			facts, err := s.Bus.Queues().Info(s.Context(), s.Names.Log, "webhook-ops")
			return err == nil && facts.Unsettled == 0
		})
		d, err := letters.Get(s.Context(), fmt.Sprintf("webhook:%d:ops", first.Body.Data.Seq))
		if err != nil || d.Kind != bus.DeadWebhook || d.Fault.Message != "it answered 500 Internal Server Error" || string(d.Body) != string(first.body) {
			s.Fatalf("%+v, %v", d, err)
		}
		letter, err := s.Bus.DeadLetters().Get(s.Context(), d.ID)
		if err == nil {
			err = s.Bus.DeadLetters().Requeue(s.Context(), &letter)
		}
		if err != nil {
			s.Fatal(err)
		}
		if g := servicetest.Next(s.Env, s.came); g.ID != first.ID || string(g.body) != string(first.body) {
			s.Errorf("sent again as %s: %s", g.ID, g.body)
		}
		if list, err := letters.List(s.Context()); err != nil || len(list) > 0 {
			s.Errorf("left: %+v, %v", list, err)
		}
		s.quiet()
	})
}

// wait is Next for values that take much longer.
func wait[T any](s *site, from <-chan T, bound time.Duration) (v T) {
	s.Helper()
	select {
	case v = <-from:
	case <-time.After(bound):
		s.Fatal("nothing came")
	}
	return v
}

func TestATargetSaysWhenItWantsTheNextAttempt(t *testing.T) {
	virtual(t, func(s *site) {
		s.answer = func(n int, _ got) *http.Response {
			return []*http.Response{status(http.StatusTooManyRequests, "Retry-After", "3600"), status(http.StatusFound, "Location", "https://other.example.org"), status(http.StatusGone)}[min(n, 3)-1]
		}
		s.run(s.Server.Bus("one"), target("ops"))
		s.ended("j1")
		first := servicetest.Next(s.Env, s.came)
		second := wait(s, s.came, 2*time.Hour)
		third := servicetest.Next(s.Env, s.came)
		if gap := second.At.Sub(first.At); gap < time.Hour || gap > time.Hour+5*time.Second || third.Target != "ops.example.org" {
			s.Errorf("the second attempt came %v later, the third at %s", gap, third.Target)
		}
		for _, want := range []webhook.Outcome{webhook.Failed, webhook.Failed, webhook.Dead} {
			if o := servicetest.Next(s.Env, s.told); o != want {
				s.Errorf("%s, want %s", o, want)
			}
		}
		s.quiet()
	})
}

// Of two gateways one sends, and the other takes over what the first may not have sent, under the same id.
func TestTwoGatewaysSendOnceAndTakeOverFromOneAnother(t *testing.T) {
	virtual(t, func(s *site) {
		first := s.Server.Connect("one")
		stop := s.run(first, target("ops"))
		s.run(s.Server.Bus("two"), target("ops"))
		const many = 50
		seen := map[string]int{}
		for i := range many {
			s.ended(fmt.Sprintf("j%d", i))
		}
		for range many {
			seen[servicetest.Next(s.Env, s.came).ID]++
		}
		if len(seen) != many {
			s.Errorf("%d different notices, want %d", len(seen), many)
		}
		s.quiet()
		tried := map[string]bool{}
		s.answer = func(_ int, g got) *http.Response {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !tried[g.ID] {
				tried[g.ID] = true
				return nil
			}
			return status(http.StatusOK)
		}
		s.ended("last")
		one := servicetest.Next(s.Env, s.came)
		first.Close() // Like the end of its process, perhaps in the middle of the attempt.
		if two := servicetest.Next(s.Env, s.came); two.ID != one.ID || string(two.body) != string(one.body) {
			s.Errorf("%s after %s", two.ID, one.ID)
		}
		stop()
		s.quiet()
	})
}

// A gateway that was away sends notices about what happened meanwhile.
func TestTheEventsOfAnAbsenceAreTold(t *testing.T) {
	virtual(t, func(s *site) {
		stop := s.run(s.Server.Bus("one"), target("ops"))
		s.ended("a")
		servicetest.Next(s.Env, s.came)
		stop()
		s.ended("b")
		s.run(s.Server.Bus("two"), target("ops"))
		if g := servicetest.Next(s.Env, s.came); g.Body.Data.Job.ID != "b" {
			s.Errorf("told of %s", g.Body.Data.Job.ID)
		}
		s.quiet()
	})
}

func TestALongResultIsLeftOut(t *testing.T) {
	virtual(t, func(s *site) {
		s.run(s.Server.Bus("one"), target("ops"))
		s.asked("j1", events.Request{Goal: strings.Repeat("ä", 1000)})
		s.Tell(events.Event{Kind: events.KindJobFinished, Job: "j1", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`"` + strings.Repeat("x", 40<<10) + `"`)}})
		g := servicetest.Next(s.Env, s.came)
		if d := g.Body.Data; !d.Cut || d.End == nil || d.End.Status != events.Finished || len(d.End.Result) > 0 || len(g.body) > 4<<10 || !strings.HasSuffix(d.Job.Goal, "ä…") {
			s.Errorf("%d bytes: %.300s", len(g.body), g.body)
		}
	})
}

func TestANoticeReachesNothingThatTheOperatorDoesNotAllow(t *testing.T) {
	came := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came <- struct{}{} }))
	defer server.Close()
	e := servicetest.New(t)
	for _, test := range []struct {
		allow string
		want  string
	}{{"10.0.0.0/8", "127.0.0.1 is not a public address"}, {"127.0.0.1", ""}} {
		target := webhook.Target{Name: "t" + test.allow[:2], URL: server.URL, Secrets: []host.Secret{secret}, AllowAddresses: []string{test.allow}}
		ctx, stop := context.WithCancel(t.Context())
		told, ended := make(chan error, 10), make(chan error, 1)
		go func() {
			ended <- webhook.Run(ctx, webhook.Settings{
				Bus: e.Bus, Targets: []webhook.Target{target}, Log: slog.New(slog.DiscardHandler), Told: func(_ string, _ webhook.Outcome, err error) { told <- err },
			})
		}()
		e.Until("the log is followed", func() bool {
			_, err := e.Bus.Queues().Info(t.Context(), e.Names.Log, "webhook-"+target.Name)
			return err == nil
		})
		e.Tell(events.Event{Kind: events.KindJobFinished, Job: target.Name, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}})
		err := servicetest.Next(e, told)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) || (err == nil) != (len(came) == 1) || err != nil && strings.Contains(err.Error(), server.URL) {
			t.Errorf("%s: %v, %d requests came", test.allow, err, len(came))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestTheFileOfTargetsIsJudgedWhole(t *testing.T) {
	at := filepath.Join(t.TempDir(), "webhooks.yaml")
	read := func(text string) ([]webhook.Target, error) {
		t.Helper()
		musttest.Write(t, at, "version: 1\nwebhooks:\n"+text)
		return webhook.Read(at, func(name string) (string, bool) { return secret, name == "OPS" })
	}
	list, err := read("- {name: ops, url: 'https://ops.example.org', secrets: ['${OPS}'], events: [job.failed], on_request: true}\n- {name: near, url: 'http://10.1.2.3/x', secrets: ['" + later + "'], allow_addresses: [10.0.0.0/8]}\n")
	want := []webhook.Target{
		{Name: "ops", URL: "https://ops.example.org", Secrets: []host.Secret{secret}, Events: []string{"job.failed"}, OnRequest: true},
		{Name: "near", URL: "http://10.1.2.3/x", Secrets: []host.Secret{later}, AllowAddresses: []string{"10.0.0.0/8"}},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = read("- {name: a b, url: 'ftp://x', secrets: [whsec_short], events: [job.requested], allow_addresses: [home]}\n- {name: x, url: 'http://x.example.org'}\n- {name: x, url: 'https://u:p@x.example.org', secrets: ['" + later + "']}\n")
	var faults host.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("%v", err)
	}
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Field)
		if f.Hint == "" || strings.Contains(f.Error(), "short") {
			t.Errorf("%+v", f)
		}
	}
	slices.Sort(fields)
	if want := []string{"webhooks[0].allow_addresses", "webhooks[0].events", "webhooks[0].name", "webhooks[0].secrets", "webhooks[0].url", "webhooks[1].secrets", "webhooks[1].url", "webhooks[2].name", "webhooks[2].url"}; !slices.Equal(fields, want) {
		t.Errorf("%v", fields)
	}
}

func TestALabelThatNamesNoTargetIsRefused(t *testing.T) {
	targets := []webhook.Target{target("ops")}
	for label, refused := range map[string]bool{"": false, "ops": false, "other": true} {
		if fault := webhook.Check(targets, map[string]string{webhook.Label: label}); (fault != nil) != refused {
			t.Errorf("%q: %+v", label, fault)
		}
	}
	if fault := webhook.Check(nil, map[string]string{webhook.Label: "other"}); fault != nil {
		t.Errorf("without targets: %+v", fault)
	}
}
