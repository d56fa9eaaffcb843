package host_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// A server with a certificate serves nothing but TLS.
func TestACertificateIsServed(t *testing.T) {
	a := servicetest.NewAuthority(t)
	cert, key := a.Issue("server", "ours")
	server := musttest.Get(host.Listen("127.0.0.1:0", host.NewHealth(), host.NewMetrics(host.Build{}), host.Build{}))(t)
	musttest.Do(t, server.Secure(host.TLS{Cert: cert, Key: key}, slog.New(slog.DiscardHandler)))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }() // Ends with stop.
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: a.Client(), DisableKeepAlives: true}}
	for url, want := range map[string]int{server.URL() + "/healthz": http.StatusOK, "http://" + server.Addr() + "/healthz": http.StatusBadRequest} {
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // Only its status matters.
		if response.StatusCode != want {
			t.Errorf("%s: %s", url, response.Status)
		}
	}
	if err := host.CheckHealth(t.Context(), server.Addr(), true); err != nil {
		t.Error(err)
	}
}

// A certificate that is replaced is served without a restart; one that cannot be used is not.
func TestACertificateIsReplaced(t *testing.T) {
	a := servicetest.NewAuthority(t)
	cert, key := a.Issue("server", "first")
	now := time.Now()
	current := musttest.Get(host.Configured(host.TLS{Cert: cert, Key: key, ClientCA: a.File}, func() time.Time { return now }))(t)
	is := func(want string) {
		t.Helper()
		config := musttest.Get(current())(t)
		got, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
		if err != nil || got.Subject.CommonName != want || config.ClientAuth != tls.VerifyClientCertIfGiven {
			t.Errorf("serves %v, want %s", got.Subject, want)
		}
	}
	is("first")
	a.Issue("server", "the second one")
	is("first") // The files were checked a moment ago.
	now = now.Add(2 * time.Second)
	is("the second one")
	musttest.Write(t, cert, "none")
	now = now.Add(2 * time.Second)
	is("the second one")
}

func TestCertificatesThatCannotBeUsedAreNamed(t *testing.T) {
	a := servicetest.NewAuthority(t)
	cert, key := a.Issue("server", "s")
	none := filepath.Join(t.TempDir(), "none.pem")
	for _, test := range []struct {
		given host.TLS
		want  string
	}{
		{host.TLS{Cert: cert}, "belong together"},
		{host.TLS{ClientCA: a.File}, "belong together"},
		{host.TLS{Cert: cert, Key: none}, none},
		{host.TLS{Cert: cert, Key: cert}, cert},
		{host.TLS{Cert: cert, Key: key, ClientCA: key}, "it has no certificate"},
	} {
		server, err := host.Listen("127.0.0.1:0", host.NewHealth(), host.NewMetrics(host.Build{}), host.Build{})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(server.Secure(test.given, slog.New(slog.DiscardHandler)), server.Close())
		if err == nil || !strings.Contains(err.Error(), test.want) || host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%+v: %v", test.given, err)
		}
	}
}
