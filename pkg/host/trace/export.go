package trace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/jobgraph/jobgraph/pkg/host"
)

// Defaults of the OTLP exporter specification, and limits on a collector's answers.
const (
	tracesPath     = "/v1/traces"
	defaultTimeout = 10 * time.Second
	firstRetry     = time.Second
	longestRetry   = 30 * time.Second
	answerBound    = 64 << 10
)

// exporter sends spans to a collector by OTLP over HTTP with protobuf (OTLP 1.9). The SDK's own exporter links gRPC, which
// adds 4 MB to each program.
type exporter struct {
	url     string
	header  http.Header
	zip     bool
	timeout time.Duration // The time limit of one attempt.
	client  *http.Client
	ending  chan struct{} // Closed when the process ends: no attempt is repeated from then on.
}

// newExporter reads the OTEL_EXPORTER_OTLP_* variables; those for traces take precedence over those for all signals. Errors name
// the faulty variable.
func newExporter(env host.Env) (*exporter, error) {
	setting := func(name string) (value, variable string) {
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value, _ := env(variable); strings.TrimSpace(value) != "" {
				return strings.TrimSpace(value), variable
			}
		}
		return "", ""
	}
	e := &exporter{timeout: defaultTimeout, ending: make(chan struct{}), header: http.Header{"Content-Type": {"application/x-protobuf"}}}
	value, variable := setting("ENDPOINT")
	place, err := url.Parse(value)
	if err != nil || place.Host == "" || place.Scheme != "http" && place.Scheme != "https" {
		return nil, fmt.Errorf("%s: want http://HOST:PORT or https://HOST:PORT", variable)
	}
	if !strings.Contains(variable, "_TRACES_") {
		place = place.JoinPath(tracesPath)
	}
	e.url = place.String()
	if value, variable = setting("HEADERS"); value != "" {
		if err := e.headers(value); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
	}
	if value, variable = setting("TIMEOUT"); value != "" {
		ms, err := strconv.ParseUint(value, 10, 31)
		if err != nil || ms == 0 {
			return nil, fmt.Errorf("%s %q: want milliseconds", variable, value)
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	switch value, variable = setting("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		e.zip = true
	default:
		return nil, fmt.Errorf("%s %q: use gzip or none", variable, value)
	}
	e.client, err = secured(setting)
	return e, err
}

// headers parses NAME=VALUE,NAME=VALUE, percent-encoded as in W3C baggage.
func (e *exporter) headers(list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return errors.New("want NAME=VALUE, separated by commas, values percent-encoded")
		}
		e.header.Set(name, decoded)
	}
	return nil
}

// secured returns a client with the certificates that the environment names.
func secured(setting func(name string) (value, variable string)) (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	if path, variable := setting("CERTIFICATE"); path != "" {
		text, err := os.ReadFile(path)
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no PEM certificate in %s: %v", variable, path, err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	if path, variable := setting("CLIENT_CERTIFICATE"); path != "" {
		key, _ := setting("CLIENT_KEY")
		pair, err := tls.LoadX509KeyPair(path, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		transport.TLSClientConfig = cmp.Or(transport.TLSClientConfig, &tls.Config{MinVersion: tls.VersionTLS12})
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: transport}, nil
}

// ExportSpans implements the SDK's SpanExporter. It retries temporary failures until ctx or the process ends.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: encode(spans)})
	if err == nil && e.zip {
		body, err = zipped(body)
	}
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	for pause := firstRetry; ; pause = min(2*pause, longestRetry) {
		after, err := e.send(ctx, body)
		if err == nil || after < 0 || e.ends() {
			return err
		}
		timer := time.NewTimer(max(after, pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-e.ending:
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// ends reports whether the process ends.
func (e *exporter) ends() bool {
	select {
	case <-e.ending:
		return true
	default:
		return false
	}
}

// send makes one attempt. With an error it returns how long to wait before the next one; a negative value means never.
func (e *exporter) send(ctx context.Context, body []byte) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header = e.header.Clone()
	if e.zip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	reply, err := e.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reply.Body.Close() }() // Everything that matters has been read.
	text, err := io.ReadAll(io.LimitReader(reply.Body, answerBound))
	switch reply.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return -1, errors.Join(err, rejected(text))
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After")) // A date counts as absent: then the pause grows.
		return time.Duration(max(0, min(seconds, 60))) * time.Second, fmt.Errorf("the collector answers %s", reply.Status)
	}
	return -1, fmt.Errorf("the collector answers %s", reply.Status)
}

// rejected returns an error if the collector has accepted the request but dropped some of its spans.
func rejected(text []byte) error {
	var answer collector.ExportTraceServiceResponse
	if proto.Unmarshal(text, &answer) != nil || answer.GetPartialSuccess().GetRejectedSpans() == 0 {
		return nil
	}
	return fmt.Errorf("the collector refused %d spans: %.200q", answer.GetPartialSuccess().GetRejectedSpans(), answer.GetPartialSuccess().GetErrorMessage())
}

// Shutdown implements the SDK's SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
