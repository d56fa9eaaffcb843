package cli

import (
	"errors"
	"io"
	"syscall"
)

// pipe is an output that notices when its reader has gone.
type pipe struct {
	to     io.Writer
	unread func()
}

// Write implements io.Writer.
func (p pipe) Write(text []byte) (int, error) {
	n, err := p.to.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		p.unread()
	}
	return n, err
}
