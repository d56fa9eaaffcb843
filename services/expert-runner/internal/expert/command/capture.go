package command

import (
	"io"
	"strings"
	"unicode/utf8"
)

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

// tail keeps the end of a stream.
type tail struct{ kept []byte }

// maxTail is how much of standard error is kept, in bytes.
const maxTail = 4 << 10

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 4*maxTail {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxTail:]...)
	}
	return len(p), nil
}

// text is the end of what was written, as valid UTF-8, whole lines where there are several.
func (t *tail) text() string {
	kept := t.kept
	if len(kept) > maxTail {
		kept = kept[len(kept)-maxTail:]
		for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
			kept = kept[1:]
		}
		if _, rest, ok := strings.Cut(string(kept), "\n"); ok && rest != "" {
			kept = []byte(rest)
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(kept), "\uFFFD"))
}

// drain copies a stream until it ends; an error of the pipe ends it too.
func drain(to io.Writer, from io.Reader) {
	_, _ = io.Copy(to, from) // A pipe that breaks has said all it will; the writers cannot fail.
}
