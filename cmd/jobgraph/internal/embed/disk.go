package embed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// LeastRoom is how many free bytes the disk of a store has to have at the start: on a full one the server would start, and fail at
// its first message.
const LeastRoom = 1 << 20

// Sound returns nil while the server can write. After a failed write it rejects further ones without an answer, until it is
// restarted. The error is events.Faults.
func (e *Server) Sound() error {
	for _, found := range e.nats.Healthz(&server.HealthzOptions{Details: true}).Errors {
		// A stream that is being created or removed may be reported too, which is not a fault of the disk.
		if found.Type == server.HealthzErrorJetStream || found.Type == server.HealthzErrorStream && strings.Contains(found.Error, " write error: ") {
			return e.unwritable(errors.New(found.Error))
		}
	}
	return nil
}

// alarms is a logger for the server that signals its errors and drops everything else. It never blocks, since the server holds locks
// while it logs, and keeps one signal at most, since in a broken store each write fails.
type alarms chan struct{}

func (a alarms) raise() {
	select {
	case a <- struct{}{}:
	default: // One is pending.
	}
}

func (a alarms) Errorf(string, ...any) { a.raise() }
func (a alarms) Fatalf(string, ...any) { a.raise() }
func (alarms) Warnf(string, ...any)    {}
func (alarms) Noticef(string, ...any)  {}
func (alarms) Debugf(string, ...any)   {}
func (alarms) Tracef(string, ...any)   {}

// Alarms returns the channel that receives when the server has logged errors. After one Sound may have changed, at once or soon.
func (e *Server) Alarms() <-chan struct{} { return e.alarms }

// Room returns how many bytes are free on the disk of the store.
func (e *Server) Room() (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(e.store, &disk); err != nil {
		return 0, fmt.Errorf("read room of %s: %w", e.store, err)
	}
	return disk.Bavail * uint64(disk.Bsize), nil
}

// try writes as much as a start needs and removes it, which is the only way to discover a quota.
func (e *Server) try() error {
	file := filepath.Join(e.store, "jobgraph.room")
	err := os.WriteFile(file, bytes.Repeat([]byte{1}, LeastRoom), 0o600)
	if gone := os.Remove(file); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return e.unwritable(err)
	}
	return nil
}

// unwritable returns the fault of a store that cannot be written, with advice.
func (e *Server) unwritable(cause error) events.Faults {
	f := events.Fault{
		Code: events.CodeUnavailable, Field: "store", Message: "the store " + e.store + " cannot be written", Cause: cause.Error(),
		Hint: "see to the disk and start again: nothing that was accepted is lost",
	}
	// The server reports its errors as text.
	if strings.Contains(f.Cause, syscall.ENOSPC.Error()) || strings.Contains(f.Cause, syscall.EDQUOT.Error()) {
		f.Message = "the disk of the store " + e.store + " is full"
		f.Hint = "free room on it and start again: nothing that was accepted is lost"
	}
	if e.temp.Load() {
		f.Hint = "free room for temporary files, or name a folder with --store"
	}
	return events.Faults{f}
}
