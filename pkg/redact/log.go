package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler removes the secrets of a set from log records before next gets them: from messages, texts, errors and values that
// format themselves.
func Handler(next slog.Handler, set *Set) slog.Handler { return handler{next, set} }

type handler struct {
	slog.Handler
	set *Set
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	redactor := h.set.Redactor()
	if redactor.Empty() {
		return h.Handler.Handle(ctx, r)
	}
	clean := slog.NewRecord(r.Time, r.Level, redactor.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(redactor.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	redactor := h.set.Redactor()
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = redactor.attr(a)
	}
	return handler{h.Handler.WithAttrs(clean), h.set}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.set}
}

func (r *Redactor) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		value = slog.StringValue(r.Text(value.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(value.Group()))
		for i, inner := range value.Group() {
			group[i] = r.attr(inner)
		}
		value = slog.GroupValue(group...)
	case slog.KindAny:
		if text := fmt.Sprint(value.Any()); r.Text(text) != text {
			value = slog.StringValue(r.Text(text))
		}
	}
	return slog.Attr{Key: a.Key, Value: value}
}
