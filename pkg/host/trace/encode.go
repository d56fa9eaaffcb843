package trace

import (
	"bytes"
	"compress/gzip"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// encode converts spans to OTLP. All spans of a tracer have the same resource and scope.
func encode(spans []sdk.ReadOnlySpan) []*wire.ResourceSpans {
	if len(spans) == 0 {
		return nil
	}
	list := make([]*wire.Span, len(spans))
	for i, s := range spans {
		list[i] = encodeSpan(s)
	}
	about, scope := spans[0].Resource(), spans[0].InstrumentationScope()
	return []*wire.ResourceSpans{{
		Resource: &resource.Resource{Attributes: encodeAttributes(about.Attributes())}, SchemaUrl: about.SchemaURL(),
		ScopeSpans: []*wire.ScopeSpans{{Scope: &common.InstrumentationScope{Name: scope.Name, Version: scope.Version}, SchemaUrl: scope.SchemaURL, Spans: list}},
	}}
}

func encodeSpan(s sdk.ReadOnlySpan) *wire.Span {
	trace, id, parent := s.SpanContext().TraceID(), s.SpanContext().SpanID(), s.Parent().SpanID()
	span := &wire.Span{
		TraceId: trace[:], SpanId: id[:], TraceState: s.SpanContext().TraceState().String(), Name: s.Name(),
		Kind:              wire.Span_SpanKind(s.SpanKind()), // Both enumerations have the same numbers.
		StartTimeUnixNano: uint64(max(0, s.StartTime().UnixNano())), EndTimeUnixNano: uint64(max(0, s.EndTime().UnixNano())),
		Attributes: encodeAttributes(s.Attributes()), DroppedAttributesCount: uint32(max(0, s.DroppedAttributes())),
		Status: &wire.Status{Message: s.Status().Description},
	}
	if s.Parent().HasSpanID() {
		span.ParentSpanId = parent[:]
	}
	switch s.Status().Code {
	case codes.Error:
		span.Status.Code = wire.Status_STATUS_CODE_ERROR
	case codes.Ok:
		span.Status.Code = wire.Status_STATUS_CODE_OK
	}
	return span
}

func encodeAttributes(list []attribute.KeyValue) []*common.KeyValue {
	pairs := make([]*common.KeyValue, len(list))
	for i, a := range list {
		pairs[i] = &common.KeyValue{Key: string(a.Key), Value: encodeValue(a.Value)}
	}
	return pairs
}

// encodeValue keeps the type of a plain value; lists, which neither we nor the SDK's resource produce, become text.
func encodeValue(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	}
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.String()}}
}

func zipped(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
