package process

import (
	"fmt"
	"syscall"
)

// Ending is how a program has ended.
type Ending struct {
	// Code is the exit code, -1 if a signal ended it.
	Code int
	// Signal is the signal that ended it, or 0.
	Signal syscall.Signal
	// Why says why the keeper ended it, or that the keeper died; empty if it ended by itself.
	Why string
}

// Reasons of an Ending.
const (
	// Orphaned means that the runner gave no sign of life for too long.
	Orphaned = "the runner could not keep its claim for too long"
	// Unkept means that the keeper has died, and the program with it.
	Unkept = "the process that keeps programs has died"
)

// String describes the ending for people.
func (e Ending) String() string {
	switch {
	case e.Why != "":
		return e.Why
	case e.Signal != 0:
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

func endingOf(s syscall.WaitStatus) Ending {
	if s.Signaled() {
		return Ending{Code: -1, Signal: s.Signal()}
	}
	return Ending{Code: s.ExitStatus()}
}
