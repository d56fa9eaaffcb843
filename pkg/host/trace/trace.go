package trace

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Start begins a span under a traceparent; an empty one begins a trace. Attributes are alternating names and values,
// without the prefix "jobgraph.". It returns the traceparent of the span, for everything that it causes, and a function
// that ends it, with more attributes and, if it failed, a description. end may be called once, from any goroutine.
//
// A nil Start means that tracing is off. Packages that must not import this one declare the type by its signature.
type Start = func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))

// flushBound limits the sending of remaining spans after a service has drained; it is shorter if the process has to end at
// once. A collector that takes the connection and says nothing costs all of it, for each service of the process.
const flushBound = 2 * time.Second

// Open returns the Start of a service, or nil if the environment names no collector. A cleanup of the process sends the
// remaining spans. Faulty variables are logged and switch tracing off, since nothing else depends on it.
func Open(p *host.Process) Start {
	if !wanted(p.Env) {
		return nil
	}
	t, err := open(p)
	if err != nil {
		p.Log.Warn("tracing is off: cannot create the exporter", "error", err)
		return nil
	}
	p.Cleanup("traces", flushBound, func(ctx context.Context) error {
		close(t.ending)
		if err := t.provider.Shutdown(ctx); err != nil {
			p.Log.Warn("cannot send the remaining spans", "error", err)
		}
		return nil
	})
	return t.start
}

// wanted reads the variables that decide whether tracing is on; the SDK reads the rest.
func wanted(env host.Env) bool {
	if env == nil {
		return false
	}
	is := func(name, value string) bool {
		text, _ := env(name)
		return strings.EqualFold(strings.TrimSpace(text), value)
	}
	named := !is("OTEL_EXPORTER_OTLP_ENDPOINT", "") || !is("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	return named && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

// tracer creates the spans of one service.
type tracer struct {
	provider *sdk.TracerProvider
	spans    trace.Tracer
	secrets  *redact.Set // The secrets to remove from attributes and descriptions.
	context  propagation.TraceContext
	ending   chan<- struct{} // Closed when the process ends.
}

func open(p *host.Process) (*tracer, error) {
	exporter, err := newExporter(p.Env)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(context.Background(),
		resource.WithAttributes(
			attribute.String("service.name", "jobgraph-"+p.Name), attribute.String("service.namespace", "jobgraph"),
			attribute.String("service.version", p.Build.Version)),
		resource.WithHost(), resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(&quiet{SpanExporter: exporter, log: p.Log}), sdk.WithResource(about))
	return &tracer{provider: provider, spans: provider.Tracer("github.com/jobgraph/jobgraph"), secrets: p.Secrets, ending: exporter.ending}, nil
}

// headerTrace is the key under which the SDK reads and writes a traceparent.
const headerTrace = "traceparent"

func (t *tracer) start(parent, name string, attributes ...string) (string, func(string, ...string)) {
	ctx := context.Background()
	if parent != "" {
		ctx = t.context.Extract(ctx, propagation.MapCarrier{headerTrace: parent})
	}
	ctx, span := t.spans.Start(ctx, name, trace.WithAttributes(t.pairs(attributes)...))
	carrier := propagation.MapCarrier{}
	t.context.Inject(ctx, carrier)
	return carrier[headerTrace], func(failure string, attributes ...string) {
		span.SetAttributes(t.pairs(attributes)...)
		if failure != "" {
			span.SetStatus(codes.Error, t.secrets.Redactor().Text(failure))
		}
		span.End()
	}
}

func (t *tracer) pairs(attributes []string) []attribute.KeyValue {
	redactor := t.secrets.Redactor()
	list := make([]attribute.KeyValue, 0, len(attributes)/2)
	for i := 0; i+1 < len(attributes); i += 2 {
		list = append(list, attribute.String("jobgraph."+attributes[i], redactor.Text(attributes[i+1])))
	}
	return list
}
