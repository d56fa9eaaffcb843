package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Fetch writes a payload of a job, which need not fit into memory. After an error what was written is worth nothing. Errors:
// ErrNotFound, the writer's, and those of the bus.
func (c *Client) Fetch(ctx context.Context, job string, ref events.Ref, w io.Writer) error {
	if err := checkID(job); err != nil {
		return err
	}
	return c.bus.GetBlobTo(ctx, job, ref.Digest, w)
}

// Preview is what a payload begins with, at most so many bytes, when it is text; empty for anything else. It reads no further, and so
// cannot tell whether the rest is what was stored. Errors: ErrNotFound, and those of the bus.
func (c *Client) Preview(ctx context.Context, job string, ref events.Ref, most int) (string, error) {
	head := &beginning{most: most}
	if err := c.Fetch(ctx, job, ref, head); err != nil && !errors.Is(err, errEnough) {
		return "", err
	}
	text := head.Bytes()
	for cut := 0; cut < utf8.UTFMax && len(text) > 0 && !utf8.Valid(text); cut++ {
		text = text[:len(text)-1] // The end may have cut a letter.
	}
	if !utf8.Valid(text) || bytes.ContainsRune(text, 0) {
		return "", nil
	}
	return string(text), nil
}

// errEnough ends the reading of a beginning.
var errEnough = errors.New("enough was read")

// beginning keeps the first bytes that are written.
type beginning struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	left := b.most - b.Len()
	if len(p) > left {
		_, _ = b.Buffer.Write(p[:left]) // It never fails.
		return left, errEnough
	}
	return b.Buffer.Write(p)
}
