//go:build unix

package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitUnread calls gone when the reader of a pipe has gone. It returns at once for any other file.
func awaitUnread(f *os.File, gone func()) {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	for {
		fds := []unix.PollFd{{Fd: int32(f.Fd())}} //nolint:gosec // A descriptor of this process fits.
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone()
		}
		return
	}
}
