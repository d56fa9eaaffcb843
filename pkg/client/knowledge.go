package client

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Knowledge manages the documents that the experts of a session may read.
type Knowledge struct{ client *Client }

// Add stores a document of at most bus.MaxDocument bytes for a session, until it is removed or the session deleted. Agents
// with the tools list_knowledge and read_knowledge find it. The same bytes are stored once, under their first name. Errors:
// bus.ErrTooLarge, bus.ErrRefused, the reader's, and those of the bus.
func (k Knowledge) Add(ctx context.Context, session, name string, r io.ReadSeeker) (events.Ref, error) {
	ref, err := k.client.bus.Documents().Put(ctx, session, events.Ref{Name: name, MediaType: mediaType(name)}, r)
	if err != nil {
		return events.Ref{}, fmt.Errorf("add %s: %w", name, err)
	}
	return ref, nil
}

// List lists the documents of a session, sorted by name. Errors: those of the bus.
func (k Knowledge) List(ctx context.Context, session string) ([]events.Ref, error) {
	return k.client.bus.Documents().List(ctx, session)
}

// leastID is the shortest prefix of a digest that identifies a document.
const leastID = 8

// Remove removes the document of a session whose digest begins with id. Errors: ErrNotFound if none or several match; those
// of the bus.
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
