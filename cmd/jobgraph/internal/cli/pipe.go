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

// followed ends a command that follows something as soon as the reader of its output has gone, also while there is nothing to write.
func (a *app) followed() {
	if a.sys.Unread != nil && a.unread != nil {
		a.sys.Unread(a.unread)
	}
}

// Write implements io.Writer.
func (p pipe) Write(text []byte) (int, error) {
	n, err := p.to.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		p.unread()
	}
	return n, err
}
