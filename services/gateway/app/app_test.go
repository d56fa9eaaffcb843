package app_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/gateway/app"
)

// A gateway refuses to serve others when it cannot tell users apart.
func TestAGatewayWithoutTokensDoesNotStart(t *testing.T) {
	e := servicetest.New(t)
	tokens := musttest.Temp(t, "tokens.yaml", "version: 1\ntokens: [{user: a, roles: [admin], token: a-token-of-some-length}]\n")
	for _, test := range []struct{ addr, start, tokens, want string }{
		{"0.0.0.0:0", "a-start-token-of-length", "", "reached from other machines"},
		{"127.0.0.1:0", "", "", "there is no token"},
		{"127.0.0.1:0", "short", "", "it has 5 bytes"},
		{"off", "a-start-token-of-length", "", "without HTTP"},
		{"127.0.0.1:0", "", tokens + ".none", "tokens.yaml.none"},
		{"0.0.0.0:0", "", tokens, ""},
		{"127.0.0.1:0", "a-start-token-of-length", "", ""},
	} {
		s := app.Default()
		s.StartToken, s.Tokens = test.start, test.tokens
		ctx, cancel := context.WithCancel(t.Context())
		p := host.NewProcess(ctx, ctx, "gateway", host.Settings{HTTPAddr: test.addr}, slog.New(slog.DiscardHandler))
		if test.addr != host.AddrOff {
			server := musttest.Get(host.Listen(test.addr, p.Health, p.Metrics, p.Build))(t)
			p.Server = server
			defer func() { _ = server.Close() }() // It never ran.
		}
		if test.want == "" {
			cancel()
		}
		err := app.Run(ctx, p, s, app.Deps{Bus: e.Bus})
		var faults events.Faults
		var files host.Faults
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: %v", test, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, &faults) && !errors.As(err, &files)):
			t.Errorf("%+v: %v", test, err)
		}
		cancel()
	}
}

// serving starts a gateway with its server, and returns its address; stop ends it.
func serving(t *testing.T, e *servicetest.Env, h host.Settings, s app.Settings) (at string, stop func() error) {
	t.Helper()
	h.HTTPAddr = "127.0.0.1:0"
	server := make(chan *host.Server, 1)
	v := e.Start("gateway", h, func(ctx context.Context, p *host.Process) error {
		at, err := host.Listen(p.Settings.HTTPAddr, p.Health, p.Metrics, p.Build)
		if err == nil {
			err = at.Secure(p.Settings.TLS, p.Log)
		}
		if err != nil {
			return err
		}
		p.Server = at
		served := make(chan error, 1)
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		go func() { served <- at.Run(serving) }() // Ends with stop below, and is waited for.
		server <- at
		err = app.Run(ctx, p, s, app.Deps{Bus: e.Bus})
		stop()
		return errors.Join(err, <-served)
	})
	at = servicetest.Next(e, server).URL()
	v.Await()
	return at, v.Stop
}

// A client with a certificate is a user without a token; one without a certificate may still have a token.
func TestAClientCertificateIsEnough(t *testing.T) {
	e := servicetest.New(t)
	a := servicetest.NewAuthority(t)
	cert, key := a.Issue("server", "gateway")
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	text := "version: 1\ntokens: [{user: anna, roles: [viewer], certificate: 'spiffe://acme/anna'}, {user: ci, roles: [viewer], token: a-token-of-some-length}]\n"
	musttest.Write(t, tokens, text)
	s := app.Default()
	s.Tokens = tokens
	at, stop := serving(t, e, host.Settings{TLS: host.TLS{Cert: cert, Key: key, ClientCA: a.File}}, s)
	ask := func(token string, files ...string) int {
		t.Helper()
		r := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/api/v1/experts", nil))(t)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: a.Client(files...), DisableKeepAlives: true, ForceAttemptHTTP2: true}}).Do(r)
		if err != nil {
			return 0
		}
		_ = answer.Body.Close() // Only its status matters.
		return answer.StatusCode
	}
	anna, annaKey := a.Issue("anna", "Anna", "spiffe://acme/anna")
	bob, bobKey := a.Issue("bob", "Bob", "spiffe://acme/bob")
	forged, forgedKey := servicetest.NewAuthority(t).Issue("anna", "Anna", "spiffe://acme/anna")
	for _, test := range []struct {
		token string
		files []string
		want  int
	}{
		{"", []string{anna, annaKey}, 200},
		{"", nil, 401},
		{"", []string{bob, bobKey}, 401},
		{"a-token-of-some-length", nil, 200},
		{"a-token-of-some-length", []string{bob, bobKey}, 200},
		{"", []string{forged, forgedKey}, 0},
	} {
		if got := ask(test.token, test.files...); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestTheAPIStandsBesideHealthAndMetrics(t *testing.T) {
	e := servicetest.New(t)
	s := app.Default()
	s.StartToken = "a-start-token-of-length"
	at, stop := serving(t, e, host.Settings{}, s)
	for path, want := range map[string]int{"/healthz": 200, "/metrics": 200, "/version": 200, "/api/v1/experts": 401, "/": 401, "/openapi.json": 401, "/other": 404} {
		if status, body := get(t, at+path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := get(t, at+"/api/v1/experts", s.StartToken); status != http.StatusOK || body != `{"experts":[]}` {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, at+"/api/v1/health", s.StartToken); status != http.StatusOK || !strings.Contains(body, `"services":{"gateway":1,"planner":0,"runner":0,"scheduler":0}`) {
		t.Errorf("%d %s", status, body)
	}
	var where []string
	err := e.Bus.Services().Peers(t.Context(), string(release.Gateway), func(p bus.Peer) { where = append(where, "http://"+p.Metadata[release.AddressKey]) })
	if err != nil || len(where) != 1 || where[0] != at {
		t.Errorf("others know of %v, %v", where, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A file of webhooks is enough: targets get notices, the counter counts, and failures appear as a note of the process.
func TestAGatewayTellsItsWebhooks(t *testing.T) {
	e := servicetest.New(t)
	answer, came := make(chan int, 2), make(chan string, 2)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came <- r.Header.Get("webhook-id")
		w.WriteHeader(<-answer)
	}))
	defer hook.Close()
	s := app.Default()
	s.StartToken, s.Webhooks = "a-start-token-of-length", filepath.Join(t.TempDir(), "webhooks.yaml")
	text := "version: 1\nwebhooks: [{name: ops, url: '" + hook.URL + "', secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw], allow_addresses: [127.0.0.1]}]\n"
	musttest.Write(t, s.Webhooks, text)
	at, stop := serving(t, e, host.Settings{}, s)
	e.Until("the log is followed", func() bool {
		_, err := e.Bus.Queues().Info(t.Context(), e.Names.Log, "webhook-ops")
		return err == nil
	})
	for _, test := range []struct {
		job     string
		status  int
		outcome string
		noted   bool
	}{{"a", http.StatusGone, "dead", true}, {"b", http.StatusOK, "sent", false}} {
		answer <- test.status
		e.Tell(events.Event{Kind: events.KindJobFinished, Job: test.job, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}})
		if id := servicetest.Next(e, came); !strings.HasPrefix(id, test.job+"-") {
			t.Errorf("told of %s", id)
		}
		e.Until("it is counted", func() bool {
			_, metrics := get(t, at+"/metrics", "")
			return strings.Contains(metrics, `jobgraph_gateway_webhooks_total{outcome="`+test.outcome+`",webhook="ops"} 1`)
		})
		if _, ready := get(t, at+"/readyz", ""); strings.Contains(ready, "webhook ops") != test.noted {
			t.Errorf("after %s: %s", test.outcome, ready)
		}
	}
	for label, refused := range map[string]bool{"ops": false, "other": true} {
		r := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/api/v1/jobs", strings.NewReader(`{"goal":"g","labels":{"webhook":"`+label+`"}}`)))(t)
		r.Header.Set("Authorization", "Bearer "+s.StartToken)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close() // Only its status matters.
		if (reply.StatusCode == http.StatusBadRequest) != refused {
			t.Errorf("label %s: %d", label, reply.StatusCode)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	body := musttest.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, string(body)
}
