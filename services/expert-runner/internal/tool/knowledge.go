package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Documents has the documents that are kept for a session.
type Documents interface {
	Documents(ctx context.Context) ([]events.Ref, error)
	Document(ctx context.Context, digest string) ([]byte, error)
}

// Knowledge are the tools that read the documents of a session. A run without a session has no documents.
type Knowledge struct{ shelf Documents }

// NewKnowledge gives the tools over documents; nil has none.
func NewKnowledge(s Documents) *Knowledge { return &Knowledge{shelf: s} }

// Tools are the tools by name.
func (k *Knowledge) Tools() []Tool {
	return []Tool{
		{
			Name: ListKnowledge, Description: "Lists the documents that are kept for this session, each with its id.", Call: k.list,
			Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		},
		{
			Name: ReadKnowledge, Description: "Reads a document that is kept for this session, by its id or name, from a byte on.", Call: k.read,
			Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"offset":{"type":"integer","minimum":0}},"required":["id"]}`),
		},
	}
}

// idLength is the length of the digest prefix that names a document.
const idLength = 12

func (k *Knowledge) documents(ctx context.Context) ([]events.Ref, error) {
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
	for i, ref := range list {
		lines[i] = fmt.Sprintf("%.*s %s, %d bytes, %s", idLength, ref.Digest, ref.Name, ref.Size, ref.MediaType)
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
	ref, err := k.find(ctx, a.ID)
	if err != nil {
		return "", err
	}
	data, err := k.shelf.Document(ctx, ref.Digest)
	if err != nil {
		return "", err
	}
	start := min(a.Offset, int64(len(data)))
	text := whole(data[start:min(start+MaxRead, int64(len(data)))])
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("%s is no text: %d bytes", ref.Name, ref.Size)
	}
	if end := start + int64(len(text)); end < int64(len(data)) {
		text += fmt.Sprintf("\n[bytes %d to %d of %d; go on with offset %d]", start, end, len(data), end)
	}
	return text, nil
}

// find gives the document with an id, or with a unique name.
func (k *Knowledge) find(ctx context.Context, id string) (*events.Ref, error) {
	list, err := k.documents(ctx)
	if err != nil {
		return nil, err
	}
	var found []events.Ref
	for _, ref := range list {
		if ref.Name == id || len(id) >= idLength && strings.HasPrefix(ref.Digest, id) {
			found = append(found, ref)
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
