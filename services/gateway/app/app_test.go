package app_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/gateway/app"
)

// A gateway does not serve those who cannot be told apart.
func TestAGatewayWithoutTokensDoesNotStart(t *testing.T) {
	e := servicetest.New(t)
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(tokens, []byte("version: 1\ntokens: [{user: a, roles: [admin], token: a-token-of-some-length}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
			server, err := host.Listen(test.addr, p.Health, p.Metrics, p.Build)
			if err != nil {
				t.Fatal(err)
			}
			p.Server = server
			defer func() { _ = server.Close() }() // It was never run.
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

func TestTheAPIStandsBesideHealthAndMetrics(t *testing.T) {
	e := servicetest.New(t)
	s := app.Default()
	s.StartToken = "a-start-token-of-length"
	server := make(chan *host.Server, 1)
	v := e.Start("gateway", host.Settings{HTTPAddr: "127.0.0.1:0"}, func(ctx context.Context, p *host.Process) error {
		at, err := host.Listen(p.Settings.HTTPAddr, p.Health, p.Metrics, p.Build)
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
	at := "http://" + (<-server).Addr()
	v.Await()
	for path, want := range map[string]int{"/healthz": 200, "/metrics": 200, "/version": 200, "/api/v1/experts": 401, "/": 401, "/openapi.json": 401, "/other": 404} {
		if status, body := get(t, at+path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := get(t, at+"/api/v1/experts", s.StartToken); status != http.StatusOK || body != `{"experts":[]}` {
		t.Errorf("%d %s", status, body)
	}
	if err := v.Stop(); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // It is read.
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
