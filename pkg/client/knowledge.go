package client

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// AddKnowledge keeps a document for a session, of at most bus.MaxDocument bytes, until it is removed or its session deleted: agents
// with the tools list_knowledge and read_knowledge find it there. The same bytes are kept once, under their first name. Errors:
// bus.ErrTooLarge, bus.ErrRefused, the reader's, and those of the bus.
func (c *Client) AddKnowledge(ctx context.Context, session, name string, r io.ReadSeeker) (events.Ref, error) {
	ref, err := c.bus.PutDocument(ctx, session, events.Ref{Name: name, MediaType: mediaType(name)}, r)
	if err != nil {
		return events.Ref{}, fmt.Errorf("add %s: %w", name, err)
	}
	return ref, nil
}

// Knowledge lists the documents of a session by name. Errors: those of the bus.
func (c *Client) Knowledge(ctx context.Context, session string) ([]events.Ref, error) {
	return c.bus.Documents(ctx, session)
}

// leastID is how much of a digest names a document.
const leastID = 8

// RemoveKnowledge removes the document of a session whose digest begins so. Errors: ErrNotFound for none, and for several; those of
// the bus.
func (c *Client) RemoveKnowledge(ctx context.Context, session, id string) error {
	list, err := c.bus.Documents(ctx, session)
	if err != nil {
		return err
	}
	var found []string
	for _, ref := range list {
		if len(id) >= leastID && strings.HasPrefix(ref.Digest, id) {
			found = append(found, ref.Digest)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("%w: %w", bus.ErrNotFound, &events.Fault{
			Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("%d documents of the session have an id like %.80q", len(found), id),
			Hint: "jobgraph sessions knowledge list " + session,
		})
	}
	return c.bus.DeleteDocument(ctx, session, found[0])
}
