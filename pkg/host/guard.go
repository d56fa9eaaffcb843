package host

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic that was turned into an error, with the stack it happened on.
type PanicError struct {
	// Value is what was given to panic.
	Value any
	// Stack is that of the goroutine.
	Stack []byte
}

// Error is the value; the stack is for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// guard calls f and makes an error of its panic.
func guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return f()
}
