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

// Start begins a span under a traceparent; an empty one begins a trace. Attributes are names and values in turn, without the
// prefix "jobgraph.". It gives the traceparent of the span, for whatever is caused by it, and what ends it: with more
// attributes, and a description when it failed. end may be called from any goroutine, once.
//
// nil is a Start that is switched off. Packages that must not import this one declare the type by its signature.
type Start = func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))

// Bounds of the end: what is still to be sent when a service has drained has flushBound, less of it when the process was told
// to end at once.
const flushBound = 5 * time.Second

// Open gives the Start of a service, or nil when the environment names no collector. Spans that are left are sent by a cleanup
// of the process. What is wrong with the variables is logged, and switches traces off: nothing else depends on them.
func Open(p *host.Process) Start {
	if !wanted(p.Env) {
		return nil
	}
	t, err := open(p)
	if err != nil {
		p.Log.Warn("no traces: the exporter cannot be made", "error", err)
		return nil
	}
	p.Cleanup("traces", flushBound, func(ctx context.Context) error {
		if err := t.provider.Shutdown(ctx); err != nil {
			p.Log.Warn("spans were not sent before the end", "error", err)
		}
		return nil
	})
	return t.start
}

// wanted reads the variables that decide whether there are traces at all; the SDK reads the rest.
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

// tracer makes the spans of one service.
type tracer struct {
	provider *sdk.TracerProvider
	spans    trace.Tracer
	secrets  *redact.Set // Taken out of attributes and descriptions.
	context  propagation.TraceContext
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
	return &tracer{provider: provider, spans: provider.Tracer("github.com/jobgraph/jobgraph"), secrets: p.Secrets}, nil
}

// headerTrace is the name under which the SDK reads and writes a traceparent.
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
