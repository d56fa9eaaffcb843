package host

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a recovered panic with its stack.
type PanicError struct {
	// Value is the argument of panic.
	Value any
	// Stack is the goroutine's stack.
	Stack []byte
}

// Error returns the value; the stack is for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// guard calls f and converts a panic to an error.
func guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return f()
}
