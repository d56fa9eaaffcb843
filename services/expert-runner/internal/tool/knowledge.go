package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
)

// Shelf has the documents that a run may read.
type Shelf interface {
	// Documents lists the documents, base by base.
	Documents(ctx context.Context) ([]Document, error)
	// Document returns the content of a document.
	Document(ctx context.Context, d Document) ([]byte, error)
	// Search finds the best passages for a query.
	Search(ctx context.Context, query string, most int) (knowledge.Found, error)
}

// Document identifies a document of a base of knowledge; its content is stored as a blob.
type Document struct {
	Base bases.Base
	events.Ref
}

// Knowledge are the tools that read the documents of a run's bases of knowledge.
type Knowledge struct{ shelf Shelf }

// NewKnowledge returns the tools over documents; without any if s is nil.
func NewKnowledge(s Shelf) *Knowledge { return &Knowledge{shelf: s} }

// Limits of search_knowledge.
const (
	// defaultHits and maxHits are how many passages a search returns.
	defaultHits = 5
	maxHits     = 20
)

// Tools returns the tools that list, read and search documents.
func (k *Knowledge) Tools() []Tool {
	return []Tool{
		{
			Name: ListKnowledge, Description: "Lists the documents that are kept for this job, each with its id and base.", Call: k.list,
			Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		},
		{
			Name: ReadKnowledge, Description: "Reads a document that is kept for this job, by its id or name, from a byte on.", Call: k.read,
			Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"offset":{"type":"integer","minimum":0}},"required":["id"]}`),
		},
		{
			Name: SearchKnowledge, Description: "Finds the passages of the documents that are kept for this job that fit a query best, each with an id to cite.", Call: k.search,
			Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"query":{"type":"string"},"most":{"type":"integer","minimum":1,"maximum":%d}},"required":["query"]}`, maxHits)),
		},
	}
}

// idLength is the length of the digest prefix that names a document.
const idLength = 12

func (k *Knowledge) documents(ctx context.Context) ([]Document, error) {
	if k.shelf == nil {
		return nil, nil
	}
	return k.shelf.Documents(ctx)
}

func (k *Knowledge) list(ctx context.Context, c Call) (string, error) {
	if err := decode(c.Args, &struct{}{}); err != nil {
		return "", err
	}
	list, err := k.documents(ctx)
	switch {
	case err != nil:
		return "", err
	case len(list) == 0:
		return "(no documents)", nil
	}
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = fmt.Sprintf("%.*s %s, %d bytes, %s", idLength, d.Digest, d.Name, d.Size, d.MediaType)
		if d.Base.Scope != bases.Session {
			lines[i] += ", of " + d.Base.Label()
		}
	}
	return strings.Join(lines, "\n"), nil
}

func (k *Knowledge) read(ctx context.Context, c Call) (string, error) {
	var a struct {
		ID     string `json:"id"`
		Offset int64  `json:"offset"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	if a.ID == "" || a.Offset < 0 {
		return "", errors.New("bad arguments: id is needed, and offset is not negative")
	}
	found, err := k.find(ctx, a.ID)
	if err != nil {
		return "", err
	}
	raw, err := k.shelf.Document(ctx, *found)
	if err != nil {
		return "", err
	}
	data, encoding, err := knowledge.Decode(raw)
	if err != nil {
		return "", fmt.Errorf("%s is no text: %d bytes", found.Name, found.Size)
	}
	start := min(a.Offset, int64(len(data)))
	text := whole([]byte(data[start:min(start+MaxRead, int64(len(data)))]))
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("offset %d is inside of a character", a.Offset)
	}
	if end := start + int64(len(text)); end < int64(len(data)) {
		text += fmt.Sprintf("\n[bytes %d to %d of %d; go on with offset %d]", start, end, len(data), end)
	}
	if encoding != knowledge.UTF8 && start == 0 {
		text += fmt.Sprintf("\n[read as %s]", encoding)
	}
	return text, nil
}

func (k *Knowledge) search(ctx context.Context, c Call) (string, error) {
	var a struct {
		Query string `json:"query"`
		Most  int    `json:"most"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	switch {
	case strings.TrimSpace(a.Query) == "" || a.Most < 0:
		return "", errors.New("bad arguments: query is needed, and most is not negative")
	case a.Most == 0:
		a.Most = defaultHits
	}
	if k.shelf == nil {
		return "(no documents)", nil
	}
	found, err := k.shelf.Search(ctx, a.Query, min(a.Most, maxHits))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range found.Hits {
		h := &found.Hits[i]
		fmt.Fprintf(&b, "[%s] %s\n%s\n\n", h.ID(), h.Source(), h.Text) // A builder never fails.
	}
	if len(found.Hits) == 0 {
		b.WriteString("(no passage has these words)\n")
	}
	if len(found.Unread) > 0 {
		fmt.Fprintf(&b, "(not searched, since no text or too large: %s)\n", strings.Join(found.Unread, ", "))
	}
	return strings.TrimSpace(b.String()), nil
}

// find returns the document with an id, or with a unique name.
func (k *Knowledge) find(ctx context.Context, id string) (*Document, error) {
	list, err := k.documents(ctx)
	if err != nil {
		return nil, err
	}
	var found []Document
	for _, d := range list {
		if d.Name == id || len(id) >= idLength && strings.HasPrefix(d.Digest, id) {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no document %q: %s names those there are", id, ListKnowledge)
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("%d documents are called %q: use an id", len(found), id)
}
