package client

import "context"

// Replay is the part of Import after the journals.
func (c *Client) Replay(ctx context.Context, x *Export) error { return c.Archive().replay(ctx, x) }
