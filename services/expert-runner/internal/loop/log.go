package loop

import (
	"context"
	"log/slog"
	"sync"
)

// runLog is the log of a run for its expert. Its fields are created with the first line, because most experts never write one.
type runLog struct {
	run *run

	once sync.Once // Guards made.
	made slog.Handler
}

func (h *runLog) handler() slog.Handler {
	h.once.Do(func() { h.made = h.run.log().Handler() })
	return h.made
}

// Enabled implements slog.Handler.
func (h *runLog) Enabled(ctx context.Context, level slog.Level) bool {
	return h.run.loop.Logger.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *runLog) Handle(ctx context.Context, r slog.Record) error { return h.handler().Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (h *runLog) WithAttrs(attrs []slog.Attr) slog.Handler { return h.handler().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (h *runLog) WithGroup(name string) slog.Handler { return h.handler().WithGroup(name) }
