package trace_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/pkg/host/trace/tracetest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// process is one whose environment is this one's, with some variables more.
func process(t *testing.T, log *strings.Builder, variables ...string) *host.Process {
	t.Helper()
	for i := 0; i+1 < len(variables); i += 2 {
		t.Setenv(variables[i], variables[i+1])
	}
	p := host.NewProcess(t.Context(), t.Context(), "scheduler", host.Settings{}, slog.New(slog.NewTextHandler(log, nil)))
	p.Env = os.LookupEnv
	return p
}

// proves D18
func TestSpansReachTheCollectorUnderTheirParents(t *testing.T) {
	c := tracetest.New(t)
	p := process(t, &strings.Builder{}, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	start := trace.Open(p)
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	outer, endOuter := start(given, "step", "job", "j")
	_, endInner := start(outer, "run", "subjob", "a")
	endInner("it broke", "outcome", "EXECUTION_ERROR")
	endOuter("")
	alone, end := start("", "intake")
	end("")
	start(outer, "never ended")
	musttest.Do(t, p.Close(context.Background()))
	ids := func(traceparent string) (trace, span string) {
		parts := strings.Split(traceparent, "-")
		return parts[1], parts[2]
	}
	traceID, outerID := ids(outer)
	otherTrace, _ := ids(alone)
	spans := c.Spans()
	if len(spans) != 3 || spans[0].ID == "" {
		t.Fatalf("spans: %+v", spans)
	}
	want := []tracetest.Span{
		{Name: "run", Trace: traceID, ID: spans[0].ID, Parent: outerID, Attributes: map[string]string{"jobgraph.subjob": "a", "jobgraph.outcome": "EXECUTION_ERROR"}, Failure: "it broke"},
		{Name: "step", Trace: "0af7651916cd43dd8448eb211c80319c", ID: outerID, Parent: "b7ad6b7169203331", Attributes: map[string]string{"jobgraph.job": "j"}},
		{Name: "intake", Trace: otherTrace, ID: spans[2].ID, Attributes: map[string]string{}},
	}
	for i := range want {
		want[i].Service = "jobgraph-scheduler"
	}
	musttest.Equal(t, want, spans)
	if traceID == otherTrace {
		t.Error("a span without a parent is in the trace of another one")
	}
}

func TestWithoutACollectorThereIsNoTracer(t *testing.T) {
	for name, variables := range map[string][]string{
		"nothing":    nil,
		"empty":      {"OTEL_EXPORTER_OTLP_ENDPOINT", ""},
		"other":      {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1"},
		"disabled":   {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_SDK_DISABLED", "true"},
		"no traces":  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none"},
		"not of use": {"OTEL_SERVICE_NAME", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if trace.Open(process(t, &strings.Builder{}, variables...)) != nil {
				t.Error("there is a tracer")
			}
		})
	}
}

func TestACollectorThatRefusesStopsNothingAndIsSaidOnce(t *testing.T) {
	c := tracetest.New(t)
	c.Refuse(http.StatusBadRequest)
	var log strings.Builder
	p := process(t, &log, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
	start := trace.Open(p)
	for range 100 {
		_, end := start("", "step")
		end("")
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "cannot send spans; dropping them"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
}

func TestThePlaceOfTracesAloneIsEnough(t *testing.T) {
	c := tracetest.New(t)
	p := process(t, &strings.Builder{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces", "OTEL_SERVICE_NAME", "mine")
	_, end := trace.Open(p)("", "step")
	end("")
	musttest.Do(t, p.Close(context.Background()))
	if spans := c.Spans(); len(spans) != 1 || spans[0].Service != "mine" {
		t.Errorf("spans: %+v", spans)
	}
}

func TestASpanShowsNoSecret(t *testing.T) {
	c := tracetest.New(t)
	p := process(t, &strings.Builder{}, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	start := trace.Open(p)
	p.Secrets.Add("a-s3cret-value")
	_, end := start("", "run", "model", "with a-s3cret-value")
	end("it said a-s3cret-value", "outcome", "a-s3cret-value")
	musttest.Do(t, p.Close(context.Background()))
	want := map[string]string{"jobgraph.model": "with ********", "jobgraph.outcome": "********"}
	spans := c.Spans()
	if len(spans) != 1 || spans[0].Failure != "it said ********" {
		t.Fatalf("spans: %+v", spans)
	}
	musttest.Equal(t, want, spans[0].Attributes)
}

func TestAProcessEndsAtOnceAlthoughItsCollectorIsAway(t *testing.T) {
	c := tracetest.New(t)
	c.Refuse(http.StatusServiceUnavailable)
	var log strings.Builder
	p := process(t, &log, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	_, end := trace.Open(p)("", "step")
	end("")
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "cannot send the remaining spans") || !strings.Contains(log.String(), "cannot send spans; dropping them") {
		t.Errorf("the process waited for its collector:\n%s", log.String())
	}
}
