package loop

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// documents reads the documents of a run's session.
type documents struct{ run *run }

// Documents implements tool.Shelf.
func (d documents) Documents(ctx context.Context) ([]events.Ref, error) {
	if d.run.Session == "" {
		return nil, nil
	}
	return d.run.loop.Knowledge.Documents(ctx, d.run.Session)
}

// Document implements tool.Shelf.
func (d documents) Document(ctx context.Context, digest string) ([]byte, error) {
	return d.run.loop.Knowledge.Document(ctx, d.run.Session, digest)
}
