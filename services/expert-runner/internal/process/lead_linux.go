package process

import (
	"syscall"
	"unsafe"
)

// lead makes the process the leader of a new group, which dies with the runner.
func lead(attr *syscall.SysProcAttr) { attr.Setpgid, attr.Pdeathsig = true, syscall.SIGKILL }

// Constants of waitid(2).
const (
	waitPID    = 1
	waitExited = 4
	waitKeep   = 0x1000000
)

// await blocks until the process has ended and leaves it unreaped, so that the number of the group cannot be reused.
func await(pid int) {
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitPID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			waitExited|waitKeep, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
