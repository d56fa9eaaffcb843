//go:build !linux

package process

import (
	"errors"
	"os/exec"
	"time"
)

// supported says whether this system can have a keeper.
const supported = false

// line is never open.
type line struct{}

func dial(time.Duration) (*line, error) { return nil, errors.ErrUnsupported }

func (*line) start(*exec.Cmd, Moment) (*Group, error) { return nil, errors.ErrUnsupported }

func (*line) broken() bool { return false }

func (*line) close() {}

// Now returns the present Moment, which is the wall clock's on this system.
func Now() Moment { return Moment(time.Now().UnixNano()) }

func keep(string) int { return 1 }

// KillMarked needs /proc, and does nothing without it.
func KillMarked(...string) {}
