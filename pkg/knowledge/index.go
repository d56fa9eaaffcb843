package knowledge

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
)

// Document is a text that can be searched.
type Document struct {
	// Base is the base that contains the document, Ref the document's name and digest.
	Base bases.Base
	Ref  events.Ref
	// Text is the content of the document.
	Text string
}

// Hit is a passage that was found.
type Hit struct {
	// Base, Name and Digest identify its document.
	Base   bases.Base `json:"base"`
	Name   string     `json:"name"`
	Digest string     `json:"digest,omitempty"`
	// Heading are the headings above the passage; Text is the passage.
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
	// Score orders hits, higher first. It compares only hits of one search.
	Score float64 `json:"score"`
}

// Source says where a passage is from, for people and models: base, name and headings.
func (h *Hit) Source() string {
	source := h.Base.Label() + "/" + h.Name
	if h.Heading != "" {
		source += " › " + h.Heading
	}
	return source
}

// ID returns a short id to cite the passage by. It depends only on the passage and its document.
func (h *Hit) ID() string {
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s\n%s\n%s", h.Digest, h.Name, h.Text) // A hash never fails.
	return fmt.Sprintf("k%08x", sum.Sum32())
}

// Index finds passages. Text implements it by words; a vector store can implement it as well.
type Index interface {
	// Add takes a document. It is called for all documents before the first search.
	Add(ctx context.Context, d *Document) error
	// Search returns up to most passages, best first. Finding none is not an error.
	Search(ctx context.Context, query string, most int) ([]Hit, error)
}
