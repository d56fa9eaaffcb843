//go:build sweep

package endtoend

import (
	"fmt"
	"sync"
	"testing"
)

// witness records test failures as findings of a play.
type witness struct {
	testing.TB

	mu     sync.Mutex // Guards faults.
	faults []string
}

// broken ends a play that cannot continue.
type broken struct{}

func (w *witness) note(fault string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fault)
}

// Error implements testing.TB.
func (w *witness) Error(args ...any) { w.note(fmt.Sprint(args...)) }

// Errorf implements testing.TB.
func (w *witness) Errorf(format string, args ...any) { w.note(fmt.Sprintf(format, args...)) }

// Fatal implements testing.TB; only the goroutine of the play may call it.
func (w *witness) Fatal(args ...any) {
	w.Error(args...)
	panic(broken{})
}

// Fatalf is Fatal with a format.
func (w *witness) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	panic(broken{})
}

// end must be deferred by the play.
func (w *witness) end() {
	if r := recover(); r != nil && r != (broken{}) {
		panic(r)
	}
}
