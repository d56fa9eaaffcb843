package cli

import (
	"errors"
	"io"
	"syscall"
)

// pipe is an output that says when it has no reader any more.
type pipe struct {
	to     io.Writer
	unread func()
}

// Write writes.
func (p pipe) Write(text []byte) (int, error) {
	n, err := p.to.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		p.unread()
	}
	return n, err
}
