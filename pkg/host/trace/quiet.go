package trace

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sayEvery is the interval of log messages about spans that cannot be sent.
const sayEvery = time.Minute

// quiet is an exporter that logs its failures only from time to time, and only in this process's log.
type quiet struct {
	sdk.SpanExporter
	log *slog.Logger

	mu   sync.Mutex // Guards said and lost.
	said time.Time
	lost int
}

// ExportSpans sends spans, or drops them.
func (q *quiet) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := q.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += len(spans)
	if time.Since(q.said) >= sayEvery {
		q.log.Warn("cannot send spans; dropping them", "spans", q.lost, "error", err)
		q.said, q.lost = time.Now(), 0
	}
	return nil
}
