//go:build unix && !aix && !solaris

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// editable reports whether keys can be read one by one.
func editable(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), readTermios)
	return err == nil
}

// flush forgets what a terminal has and no one has read, and reports whether there were whole lines of it.
func flush(f *os.File) bool {
	n, err := unix.IoctlGetInt(int(f.Fd()), waiting)
	return flushInput(int(f.Fd())) == nil && err == nil && n > 0
}

// editing has the terminal give keys one by one without showing them, and returns what restores it. Ctrl-C stays a signal, and what is
// written to the terminal stays as it is: other parts of the program write there, too.
func editing(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return nil, err
	}
	now := *was
	now.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	return func() { _ = unix.IoctlSetTermios(fd, writeTermios, was) }, unix.IoctlSetTermios(fd, writeTermios, &now) // A terminal that is gone needs nothing.
}
