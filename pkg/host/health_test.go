package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestEveryReasonAgainstReadinessIsNamed(t *testing.T) {
	h := host.NewHealth()
	same(t, 0, len(h.Reasons(t.Context())))
	h.Block("loop", "starting")
	h.Add("bus", func(context.Context) error { return errors.New("away") })
	h.Add("fine", func(context.Context) error { return nil })
	h.Add("bad", func(context.Context) error { panic("oops") })
	same(t, []host.Reason{
		{Name: "bad", Reason: "panic: oops"}, {Name: "bus", Reason: "away"}, {Name: "loop", Reason: "starting"},
	}, h.Reasons(t.Context()))
	h.Clear("loop")
	h.Remove("bad")
	same(t, []host.Reason{{Name: "bus", Reason: "away"}}, h.Reasons(t.Context()))
}

func TestACheckThatHangsFailsAndIsAskedOnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host.NewHealth()
		asked, release := make(chan struct{}, 3), make(chan struct{})
		h.Add("deaf", func(context.Context) error {
			asked <- struct{}{}
			<-release
			return nil
		})
		for range 3 {
			same(t, []host.Reason{{Name: "deaf", Reason: "no answer within 2s"}}, h.Reasons(t.Context()))
		}
		same(t, 1, len(asked))
		close(release)
		synctest.Wait()
		same(t, 0, len(h.Reasons(t.Context())))
	})
}

// serving is a server that runs until the test ends.
func serving(t *testing.T, health *host.Health) *host.Server {
	t.Helper()
	build := host.ReadBuild("test")
	server := musttest.Get(host.Listen("127.0.0.1:0", health, host.NewMetrics(build), build))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("server ended with %v", err)
		}
	})
	return server
}

func ask(t *testing.T, method, addr, path string) (int, string) {
	t.Helper()
	request := musttest.Get(http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil))(t)
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body := musttest.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, strings.TrimSpace(string(body))
}

func TestOperatorsGetHealthReadinessMetricsAndVersion(t *testing.T) {
	health := host.NewHealth()
	addr := serving(t, health).Addr()
	status, body := ask(t, http.MethodGet, addr, "/healthz")
	same(t, `200 {"status":"alive"}`, fmt.Sprint(status, " ", body))
	status, body = ask(t, http.MethodGet, addr, "/readyz")
	same(t, `200 {"ready":true,"reasons":[]}`, fmt.Sprint(status, " ", body))
	health.Block("bus", "away")
	status, body = ask(t, http.MethodGet, addr, "/readyz")
	same(t, `503 {"ready":false,"reasons":[{"name":"bus","reason":"away"}]}`, fmt.Sprint(status, " ", body))
	_, body = ask(t, http.MethodGet, addr, "/metrics")
	for _, family := range []string{"jobgraph_build_info{", "go_goroutines ", "process_cpu_seconds_total "} {
		if !strings.Contains(body, family) {
			t.Errorf("no %s in the metrics", family)
		}
	}
	_, body = ask(t, http.MethodGet, addr, "/version")
	var build host.Build
	if err := json.Unmarshal([]byte(body), &build); err != nil || build.Name != "test" || !strings.HasPrefix(build.Go, "go1.") {
		t.Errorf("version is %s: %v", body, err)
	}
}

func TestOtherMethodsAndPathsAreRefusedWithAHint(t *testing.T) {
	addr := serving(t, host.NewHealth()).Addr()
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/version"} {
		if status, body := ask(t, http.MethodPost, addr, path); status != 405 || !strings.Contains(body, `"hint":"use GET"`) {
			t.Errorf("POST %s: %d %s", path, status, body)
		}
	}
	if status, body := ask(t, http.MethodGet, addr, "/nothing"); status != 404 || !strings.Contains(body, "try /healthz") {
		t.Errorf("unknown path: %d %s", status, body)
	}
}

// A client that follows a job must not mistake the start of a service for the end of the job.
func TestAPathIsNotCalledUnknownBeforeTheProcessIsReady(t *testing.T) {
	health := host.NewHealth()
	health.Block("gateway", "starting")
	addr := serving(t, health).Addr()
	status, body := ask(t, http.MethodGet, addr, "/api/v1/jobs/a/events")
	same(t, `503 {"code":"unavailable","message":"nothing is served at this path yet","field":"path","cause":"gateway: starting","hint":"try again; /readyz says when the process is ready"}`, fmt.Sprint(status, " ", body))
	health.Clear("gateway")
	if status, body := ask(t, http.MethodGet, addr, "/api/v1/jobs/a/events"); status != 404 {
		t.Errorf("%d %s", status, body)
	}
}

func TestAnAddressInUseIsAFaultOfTheSetting(t *testing.T) {
	addr := serving(t, host.NewHealth()).Addr()
	_, err := host.Listen(addr, host.NewHealth(), host.NewMetrics(host.Build{}), host.Build{})
	if all := faults(t, err); len(all) != 1 || all[0].Field != "http-addr" {
		t.Fatalf("got %v", err)
	}
}

func TestTheHealthCheckSaysWhyNot(t *testing.T) {
	health := host.NewHealth()
	addr := serving(t, health).Addr()
	same(t, nil, host.CheckHealth(t.Context(), addr, false))
	_, port, _ := strings.Cut(addr, ":")
	same(t, nil, host.CheckHealth(t.Context(), "0.0.0.0:"+port, false))
	same(t, nil, host.CheckHealth(t.Context(), ":"+port, false))
	health.Block("bus", "away")
	if err := host.CheckHealth(t.Context(), addr, false); err == nil || err.Error() != "not ready: bus: away" {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{"off", "127.0.0.1:0"} {
		if err := host.CheckHealth(t.Context(), bad, false); host.ExitCode(err) != host.ExitUsage {
			t.Errorf("%s gives %v", bad, err)
		}
	}
}

func TestAFamilyDeclaredTwiceIsOne(t *testing.T) {
	m := host.NewMetrics(host.Build{})
	a := m.Counter("jobgraph_jobs_total", "Jobs.", "state")
	b := m.Counter("jobgraph_jobs_total", "Jobs.", "state")
	if a != b {
		t.Fatal("two families")
	}
	m.Histogram("jobgraph_subjob_duration_seconds", "Time.", nil, "expert").WithLabelValues("x").Observe(1)
	families := musttest.Get(m.Gatherer().Gather())(t)
	for _, f := range families {
		if f.GetName() == "jobgraph_subjob_duration_seconds" && len(f.GetMetric()[0].GetHistogram().GetBucket()) < 10 {
			t.Errorf("a histogram without buckets of its own lacks the usual ones: %v", f)
		}
	}
	for name, declare := range map[string]func(){
		"id as label":  func() { m.Counter("jobgraph_x_total", "X.", "job_id") },
		"foreign name": func() { m.Counter("x_total", "X.") },
		"other labels": func() { m.Counter("jobgraph_jobs_total", "Jobs.", "kind") },
		"other kind":   func() { m.Gauge("jobgraph_jobs_total", "Jobs.", "state") },
	} {
		if !panics(declare) {
			t.Errorf("%s was declared", name)
		}
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

func TestASecretNeverShows(t *testing.T) {
	secret := host.Secret("s3cret")
	var log strings.Builder
	host.NewLogger(&log, "json", slog.LevelInfo).Info("x", "key", secret, "all", struct{ K host.Secret }{secret})
	host.NewLogger(&log, "text", slog.LevelInfo).Info("x", "key", secret, "all", struct{ K host.Secret }{secret})
	encoded, err := json.Marshal(map[string]host.Secret{"k": secret})
	same(t, nil, err)
	shown := log.String() + string(encoded) + fmt.Sprintf("%v %+v %#v %s %q", secret, secret, secret, secret, secret)
	if strings.Contains(shown, "s3cret") {
		t.Fatalf("shown: %s", shown)
	}
	same(t, "s3cret", secret.Reveal())
	same(t, 2, strings.Count(log.String(), "\n"))
}

func TestTheLogKeepsToItsLevelAndFormat(t *testing.T) {
	var text strings.Builder
	log := host.NewLogger(&text, "json", slog.LevelWarn)
	log.Info("hidden")
	log.Warn("shown", "job", "j1", "took", time.Second)
	var line map[string]any
	if err := json.Unmarshal([]byte(text.String()), &line); err != nil || line["msg"] != "shown" || line["job"] != "j1" {
		t.Fatalf("log is %s: %v", text.String(), err)
	}
}
