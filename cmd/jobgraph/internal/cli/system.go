package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/jobgraph/jobgraph/pkg/host"
)

// System is the outside of the process.
type System struct {
	host.System
	// Stdin is what a person types.
	Stdin io.Reader
	// Size gives columns and rows of the terminal behind Stdout; ok is false when it is none.
	Size func() (width, height int, ok bool)
	// Typing is true when a person sits at Stdin.
	Typing bool
	// Now is the clock.
	Now func() time.Time
}

// OS is the real outside. From this call on signals no longer end the process by themselves.
func OS() System {
	return System{
		System: host.OS(), Stdin: os.Stdin, Now: time.Now, Typing: term.IsTerminal(int(os.Stdin.Fd())),
		Size: func() (int, int, bool) {
			fd := int(os.Stdout.Fd())
			if !term.IsTerminal(fd) {
				return 0, 0, false
			}
			width, height, err := term.GetSize(fd)
			return width, height, err == nil && width > 0
		},
	}
}
