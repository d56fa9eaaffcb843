package trace

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sayEvery is how often it is said that spans cannot be sent.
const sayEvery = time.Minute

// quiet is an exporter whose failures are told once in a while, and to this process's own log.
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
		q.log.Warn("spans were not sent, and are dropped", "spans", q.lost, "error", err)
		q.said, q.lost = time.Now(), 0
	}
	return nil
}
