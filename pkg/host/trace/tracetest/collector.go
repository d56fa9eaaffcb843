package tracetest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one received span, with ids in hex.
type Span struct {
	// Service is the resource's service.name, Name the name of the span.
	Service, Name string
	// Trace, ID and Parent identify it; Parent is empty for the first span of a trace.
	Trace, ID, Parent string
	// Attributes are the attributes whose values are texts.
	Attributes map[string]string
	// Failure is the description of a failed span, or "failed" if it has none.
	Failure string
}

// Collector receives spans until its test ends.
type Collector struct {
	// URL is the value for OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string
	t   testing.TB

	mu     sync.Mutex // Guards the two below.
	spans  []Span
	refuse int
}

// New starts a collector.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Refuse makes the collector answer everything with a status.
func (c *Collector) Refuse(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = status
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != 0 {
		w.WriteHeader(c.refuse)
		return
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("collector: %s %s of %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	request, err := read(r)
	if err != nil {
		c.t.Errorf("collector: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.keep(request)
	body, err := proto.Marshal(&collector.ExportTraceServiceResponse{})
	if err == nil {
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, err = w.Write(body)
	}
	if err != nil {
		c.t.Errorf("collector: %v", err)
	}
}

func read(r *http.Request) (*collector.ExportTraceServiceRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	request := &collector.ExportTraceServiceRequest{}
	return request, proto.Unmarshal(text, request)
}

func (c *Collector) keep(request *collector.ExportTraceServiceRequest) {
	for _, of := range request.GetResourceSpans() {
		service := texts(of.GetResource().GetAttributes())["service.name"]
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, spanOf(service, s))
			}
		}
	}
}

func spanOf(service string, s *wire.Span) Span {
	span := Span{
		Service: service, Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
		Parent: hex.EncodeToString(s.GetParentSpanId()), Attributes: texts(s.GetAttributes()),
	}
	if s.GetStatus().GetCode() == wire.Status_STATUS_CODE_ERROR {
		if span.Failure = s.GetStatus().GetMessage(); span.Failure == "" {
			span.Failure = "failed"
		}
	}
	return span
}

func texts(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, pair := range list {
		if v, ok := pair.GetValue().GetValue().(*common.AnyValue_StringValue); ok {
			all[pair.GetKey()] = v.StringValue
		}
	}
	return all
}
