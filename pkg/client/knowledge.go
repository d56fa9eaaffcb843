package client

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Knowledge is the documents that the experts of a session may look things up in.
type Knowledge struct{ client *Client }

// Add keeps a document for a session, of at most bus.MaxDocument bytes, until it is removed or its session deleted: agents
// with the tools list_knowledge and read_knowledge find it there. The same bytes are kept once, under their first name. Errors:
// bus.ErrTooLarge, bus.ErrRefused, the reader's, and those of the bus.
func (k Knowledge) Add(ctx context.Context, session, name string, r io.ReadSeeker) (events.Ref, error) {
	ref, err := k.client.bus.Documents().Put(ctx, session, events.Ref{Name: name, MediaType: mediaType(name)}, r)
	if err != nil {
		return events.Ref{}, fmt.Errorf("add %s: %w", name, err)
	}
	return ref, nil
}

// List lists the documents of a session by name. Errors: those of the bus.
func (k Knowledge) List(ctx context.Context, session string) ([]events.Ref, error) {
	return k.client.bus.Documents().List(ctx, session)
}

// leastID is how much of a digest names a document.
const leastID = 8

// Remove removes the document of a session whose digest begins so. Errors: ErrNotFound for none, and for several; those of
// the bus.
func (k Knowledge) Remove(ctx context.Context, session, id string) error {
	list, err := k.client.bus.Documents().List(ctx, session)
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
	return k.client.bus.Documents().Delete(ctx, session, found[0])
}
