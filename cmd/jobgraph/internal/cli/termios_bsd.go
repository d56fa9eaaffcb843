//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import "golang.org/x/sys/unix"

const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
	waiting      = 0x4004667f // FIONREAD of sys/filio.h, which package unix lacks on some of these systems.
	flushRead    = 1          // FREAD of sys/file.h.
)

func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, flushRead) }
