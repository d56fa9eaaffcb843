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

// System is the environment of the process, which tests can replace.
type System struct {
	host.System
	// Name is what the program was called by; jobgraph if empty.
	Name string
	// Stdin is the standard input.
	Stdin io.Reader
	// Size returns columns and rows of the terminal behind Stdout; ok is false if it is not a terminal.
	Size func() (width, height int, ok bool)
	// Columns returns the width of the terminal behind Stderr; 0 if it is not a terminal.
	Columns func() int
	// Unread calls a function once when the reader of Stdout has gone. It returns at once; nil if that cannot be known.
	Unread func(gone func())
	// Typing is true if Stdin is a terminal.
	Typing bool
	// Now returns the current time.
	Now func() time.Time
	// Sandbox is the sandbox helper in this program.
	Sandbox runner.Sandbox
}

// OS returns the real environment. It must be the first call of a main, see runner.HookSandbox. From this call on, signals
// do not end the process by themselves, nor does an output without a reader: writing to it returns an error instead.
func OS() System {
	box := runner.HookSandbox()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // The write error is what matters. Ignoring the signal would be inherited by the programs of experts.
	return System{
		Sandbox: box, Name: os.Args[0],
		System: host.OS(), Stdin: os.Stdin, Now: time.Now, Typing: term.IsTerminal(int(os.Stdin.Fd())),
		Size:   func() (int, int, bool) { return size(os.Stdout) },
		Unread: func(gone func()) { go awaitUnread(os.Stdout, gone) }, // Ends with the reader, or with the process.
		Columns: func() int {
			width, _, _ := size(os.Stderr)
			return width
		},
	}
}

// size returns columns and rows of a terminal; ok is false for any other file.
func size(f *os.File) (width, height int, ok bool) {
	if !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil && width > 0
}
