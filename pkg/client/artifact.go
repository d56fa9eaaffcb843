package client

import (
	"context"
	"io"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

// Fetch writes a payload of a job, which need not fit into memory. After an error what was written is worth nothing. Errors:
// ErrNotFound, the writer's, and those of the bus.
func (c *Client) Fetch(ctx context.Context, job string, ref events.Ref, w io.Writer) error {
	if err := checkID(job); err != nil {
		return err
	}
	return c.bus.Blobs().GetTo(ctx, job, ref.Digest, w)
}

// Preview is what a payload begins with, at most so many bytes, when it is text; empty for anything else. It reads no further, and so
// cannot tell whether the rest is what was stored. Errors: ErrNotFound, and those of the bus.
func (c *Client) Preview(ctx context.Context, job string, ref events.Ref, most int) (string, error) {
	head := artifact.NewHead(most)
	if err := c.Fetch(ctx, job, ref, head); err != nil && !head.Full() {
		return "", err
	}
	return head.Text(), nil
}
