package command

import "io"

// capture keeps the beginning of a stream, up to a limit, and tells the moment it is passed.
type capture struct {
	limit    int64
	kept     []byte
	overflow func()
	full     bool
}

// Write never fails: what is too much is dropped, and overflow called once.
func (c *capture) Write(p []byte) (int, error) {
	room := c.limit - int64(len(c.kept))
	c.kept = append(c.kept, p[:min(int64(len(p)), max(room, 0))]...)
	if int64(len(p)) > room && !c.full {
		c.full = true
		c.overflow()
	}
	return len(p), nil
}

// maxTail is how much of standard error is kept, in bytes.
const maxTail = 4 << 10

// drain copies a stream until it ends; an error of the pipe ends it too.
func drain(to io.Writer, from io.Reader) {
	_, _ = io.Copy(to, from) // A pipe that breaks has said all it will; the writers cannot fail.
}
