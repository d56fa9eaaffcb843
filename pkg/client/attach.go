package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"path"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// Attach stores a file for a job that is not submitted yet, under the id that its request will have, and returns the
// reference for the request's attachments. The file need not fit into memory; it is read twice. The same bytes are stored
// once. They stay if the request is refused or never sent: `jobgraph fsck` names them after a day, and Delete
// removes them. Errors: bus.ErrTooLarge, the reader's, and those of the bus.
func (c *Client) Attach(ctx context.Context, job, name string, r io.ReadSeeker) (events.Ref, error) {
	ref, err := c.bus.Blobs().PutFrom(ctx, job, r)
	if err != nil {
		return events.Ref{}, fmt.Errorf("attach %s: %w", name, err)
	}
	ref.Name, ref.MediaType = name, mediaType(name)
	return ref, nil
}

// mediaType guesses the media type from the extension of a name.
func mediaType(name string) string {
	if known := cmp.Or(artifact.MediaType(name), mime.TypeByExtension(path.Ext(name))); known != "" {
		return known
	}
	return "application/octet-stream"
}
