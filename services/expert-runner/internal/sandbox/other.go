//go:build !linux

package sandbox

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// supported says whether this system has any level besides none.
const supported = false

func systemRead() []string { return nil }

func systemWrite() []string { return nil }

// Pair is a connection to a program at level namespaces, which this system does not have.
func Pair() (net.Conn, *os.File, error) { return nil, nil, errors.New("this system has no namespaces") }

func isolate(*syscall.SysProcAttr, Level, bool) {}

// enter is never called: there is no level.
func enter(string, []string) int { return faultCode }
