package command

import "io"

// capture keeps the beginning of a stream, up to a limit, and reports when it is exceeded.
type capture struct {
	limit    int64
	kept     []byte
	overflow func()
	full     bool
}

// Write never fails: it drops what exceeds the limit and calls overflow once.
func (c *capture) Write(p []byte) (int, error) {
	room := c.limit - int64(len(c.kept))
	c.kept = append(c.kept, p[:min(int64(len(p)), max(room, 0))]...)
	if int64(len(p)) > room && !c.full {
		c.full = true
		c.overflow()
	}
	return len(p), nil
}

// The stored ends of standard error, in bytes: maxTail in errors and lessons, maxLog in the log of the run.
const (
	maxTail = 4 << 10
	maxLog  = 64 << 10
)

// drain copies a stream until it ends or its pipe fails.
func drain(to io.Writer, from io.Reader) {
	_, _ = io.Copy(to, from) // Nothing more comes from a broken pipe, and the writers cannot fail.
}
