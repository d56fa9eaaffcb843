package loop

import (
	"context"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// shelf returns the documents of the bases that the card and the request name and that the run may read: bases of other users and
// sessions cannot be named. A card with an empty list reads none.
func (r *run) shelf(card []string) tool.Shelf {
	if card != nil && len(card) == 0 || r.loop.Knowledge == nil {
		return nil
	}
	names := card
	if names == nil {
		names = bases.Default()
	}
	names = append(slices.Clone(names), r.Knowledge...)
	bases := bases.Of(names, bases.Owner{User: r.User, Sessions: []string{r.Session, r.Parent}})
	if len(bases) == 0 {
		return nil
	}
	return shelf{knowledge: r.loop.Knowledge, bases: bases}
}

// shelf implements tool.Shelf over some bases.
type shelf struct {
	knowledge Knowledge
	bases     []bases.Base
}

// Documents implements tool.Shelf.
func (s shelf) Documents(ctx context.Context) ([]tool.Document, error) {
	var all []tool.Document
	for _, b := range s.bases {
		list, err := s.knowledge.List(ctx, b)
		if err != nil {
			return nil, err
		}
		for _, ref := range list {
			all = append(all, tool.Document{Base: b, Ref: ref})
		}
	}
	return all, nil
}

// Document implements tool.Shelf.
func (s shelf) Document(ctx context.Context, d tool.Document) ([]byte, error) {
	return s.knowledge.Get(ctx, d.Base, d.Digest)
}

// Search implements tool.Shelf.
func (s shelf) Search(ctx context.Context, query string, most int) (knowledge.Found, error) {
	return s.knowledge.Search(ctx, s.bases, query, most)
}
