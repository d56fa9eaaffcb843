package cli

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
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
	// Sandbox is the helper that this program can be.
	Sandbox runner.Sandbox
}

// OS is the real outside, and has to be the first call of a main, see runner.HookSandbox. From this call on signals no longer end the process by themselves,
// nor does an output without a reader: writing it gives an error instead.
func OS() System {
	box := runner.HookSandbox()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // The error is what counts. To ignore the signal would have programs of experts ignore it, too.
	return System{
		Sandbox: box,
		System:  host.OS(), Stdin: os.Stdin, Now: time.Now, Typing: term.IsTerminal(int(os.Stdin.Fd())),
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
