//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

// lead makes the process the leader of a group of its own.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// await has no portable form that leaves the process unreaped: waiting and killing the group follow at once.
func await(int) {}
