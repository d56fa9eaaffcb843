package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// env returns a lookup over pairs of names and values.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// reply is one answer of a collector.
type reply struct {
	status  int
	header  http.Header
	partial *collector.ExportTracePartialSuccess
}

// answers is a collector that gives one answer after the other.
type answers struct {
	list     []reply
	requests []*http.Request
	bodies   [][]byte
	at       []time.Time
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.requests, a.bodies, a.at = append(a.requests, r), append(a.bodies, body), append(a.at, time.Now())
	if len(a.list) == 0 {
		return nil, errors.New("no more answers")
	}
	next := a.list[0]
	a.list = a.list[1:]
	text, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: next.partial})
	return &http.Response{StatusCode: next.status, Status: http.StatusText(next.status), Header: next.header, Body: io.NopCloser(bytes.NewReader(text))}, err
}

// one returns a span that the SDK has ended.
func one(t *testing.T) []sdk.ReadOnlySpan {
	t.Helper()
	var kept keeper
	_, span := sdk.NewTracerProvider(sdk.WithSyncer(&kept)).Tracer("x").Start(t.Context(), "step")
	span.End()
	return kept.spans
}

type keeper struct{ spans []sdk.ReadOnlySpan }

// ExportSpans implements the SDK's SpanExporter.
func (k *keeper) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	k.spans = append(k.spans, spans...)
	return nil
}

// Shutdown implements the SDK's SpanExporter.
func (k *keeper) Shutdown(context.Context) error { return nil }

func TestABusyCollectorIsAskedAgainWhenItWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := musttest.Get(newExporter(env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")))(t)
		a := &answers{list: []reply{
			{status: http.StatusServiceUnavailable}, {status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"7"}}}, {status: http.StatusOK},
		}}
		e.client.Transport = a
		begun := time.Now()
		musttest.Do(t, e.ExportSpans(t.Context(), one(t)))
		if len(a.at) != 3 || a.at[1].Sub(begun) != time.Second || a.at[2].Sub(begun) != 8*time.Second {
			t.Errorf("asked at %v, begun %v", a.at, begun)
		}
	})
}

func TestTheEndOfTheContextEndsTheAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := musttest.Get(newExporter(env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")))(t)
		e.client.Transport = &answers{list: []reply{{status: http.StatusServiceUnavailable, header: http.Header{"Retry-After": {"50"}}}}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		if err := e.ExportSpans(ctx, one(t)); err == nil || time.Since(begun) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestWhatACollectorDoesNotTakeIsAnError(t *testing.T) {
	for name, given := range map[string]reply{
		"partial": {status: http.StatusOK, partial: &collector.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}},
		"refused": {status: http.StatusBadRequest},
		"lost":    {status: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			e := musttest.Get(newExporter(env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")))(t)
			a := &answers{list: []reply{given}}
			e.client.Transport = a
			if err := e.ExportSpans(t.Context(), one(t)); err == nil || len(a.requests) != 1 {
				t.Errorf("%d requests: %v", len(a.requests), err)
			}
		})
	}
}

func TestTheVariablesForTracesCountBeforeTheOthers(t *testing.T) {
	e := musttest.Get(newExporter(env(
		"OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://here:2/exactly",
		"OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20key,y=2", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_EXPORTER_OTLP_TIMEOUT", "1500",
	)))(t)
	a := &answers{list: []reply{{status: http.StatusOK}}}
	e.client.Transport = a
	spans := one(t)
	musttest.Do(t, e.ExportSpans(t.Context(), spans))
	r := a.requests[0]
	if r.URL.String() != "https://here:2/exactly" || r.Header.Get("X-Key") != "a key" || r.Header.Get("Y") != "2" || e.timeout != 1500*time.Millisecond {
		t.Errorf("%s %v, timeout %v", r.URL, r.Header, e.timeout)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(a.bodies[0]))
	if err != nil || r.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("not zipped: %v", err)
	}
	text, err := io.ReadAll(unpacked)
	var got collector.ExportTraceServiceRequest
	musttest.Do(t, errors.Join(err, proto.Unmarshal(text, &got)))
	span := got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0]
	id := spans[0].SpanContext().SpanID()
	if span.GetKind() != wire.Span_SPAN_KIND_INTERNAL || hex.EncodeToString(span.GetSpanId()) != id.String() || span.GetEndTimeUnixNano() != uint64(spans[0].EndTime().UnixNano()) {
		t.Errorf("sent: %v", span)
	}
}

func TestAWrongVariableIsNamed(t *testing.T) {
	const place = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for want, given := range map[string][]string{
		place:                                   {place, "collector:4318"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":    {place, "http://a:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://b"},
		"OTEL_EXPORTER_OTLP_HEADERS":            {place, "http://a:1", "OTEL_EXPORTER_OTLP_HEADERS", "no value"},
		"OTEL_EXPORTER_OTLP_TIMEOUT":            {place, "http://a:1", "OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
		"OTEL_EXPORTER_OTLP_COMPRESSION":        {place, "http://a:1", "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
		"OTEL_EXPORTER_OTLP_CERTIFICATE":        {place, "http://a:1", "OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist"},
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": {place, "http://a:1", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/does/not/exist"},
	} {
		if _, err := newExporter(env(given...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A process that ends does not wait for a collector that is away.
func TestTheEndOfTheProcessEndsTheAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := musttest.Get(newExporter(env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")))(t)
		a := &answers{}
		e.client.Transport = a
		begun := time.Now()
		time.AfterFunc(4*time.Second, func() { close(e.ending) })
		if err := e.ExportSpans(t.Context(), one(t)); err == nil || time.Since(begun) != 4*time.Second || len(a.at) != 3 {
			t.Errorf("after %v and %d attempts: %v", time.Since(begun), len(a.at), err)
		}
		if err := e.ExportSpans(t.Context(), one(t)); err == nil || time.Since(begun) != 4*time.Second || len(a.at) != 4 {
			t.Errorf("after %v and %d attempts: %v", time.Since(begun), len(a.at), err)
		}
	})
}
