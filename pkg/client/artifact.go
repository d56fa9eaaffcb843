package client

import (
	"context"
	"io"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// Fetch writes a payload of a job to w; it need not fit into memory. After an error, discard what was written. Errors:
// ErrNotFound, the writer's, and those of the bus.
func (c *Client) Fetch(ctx context.Context, job string, ref events.Ref, w io.Writer) error {
	if err := checkID(job); err != nil {
		return err
	}
	return c.bus.Blobs().GetTo(ctx, job, ref.Digest, w)
}

// Preview returns up to most bytes from the beginning of a payload, if it is text, else "". It reads no further, so it
// cannot verify the digest. Errors: ErrNotFound, and those of the bus.
func (c *Client) Preview(ctx context.Context, job string, ref events.Ref, most int) (string, error) {
	head := artifact.NewHead(most)
	if err := c.Fetch(ctx, job, ref, head); err != nil && !head.Full() {
		return "", err
	}
	return head.Text(), nil
}
