package adapter

import (
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
)

// Knowledge implements loop.Knowledge: the documents of bases, and their indexes.
type Knowledge struct {
	bus.Documents
	*knowledge.Library
}

// NewKnowledge returns the Knowledge of a bus.
func NewKnowledge(b *bus.Bus) Knowledge {
	return Knowledge{b.Documents(), knowledge.NewLibrary(b.Documents())}
}
