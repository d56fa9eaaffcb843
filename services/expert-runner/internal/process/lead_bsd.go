//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// lead makes the process the leader of a new group.
func lead(attr *syscall.SysProcAttr) { attr.Setpgid = true }

// await blocks until the process has ended and leaves it unreaped, so that the number of the group cannot be reused (kqueue(2),
// EVFILT_PROC). A process that has already ended cannot be watched, which gives the same result.
func await(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return // Without descriptors nothing else works either: the program is killed.
	}
	defer func() { _ = unix.Close(queue) }()
	var exit unix.Kevent_t
	unix.SetKevent(&exit, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	exit.Fflags = unix.NOTE_EXIT
	for {
		if _, err := unix.Kevent(queue, []unix.Kevent_t{exit}, make([]unix.Kevent_t, 1), nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
