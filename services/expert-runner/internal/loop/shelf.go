package loop

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// shelf has the documents of a run's session.
type shelf struct{ *run }

// Documents implements tool.Shelf.
func (s shelf) Documents(ctx context.Context) ([]events.Ref, error) {
	if s.Session == "" {
		return nil, nil
	}
	return s.loop.Knowledge.Documents(ctx, s.Session)
}

// Document implements tool.Shelf.
func (s shelf) Document(ctx context.Context, digest string) ([]byte, error) {
	return s.loop.Knowledge.Document(ctx, s.Session, digest)
}
