package host

import "errors"

// Exit codes of a service process.
const (
	ExitOK          = 0   // Ended in order.
	ExitFailure     = 1   // Ended by an error; not ready, for healthcheck.
	ExitUsage       = 2   // A flag, a setting or a configuration file is wrong.
	ExitUnavailable = 69  // The bus or a model cannot be reached.
	ExitInterrupted = 130 // A second signal asked to end at once.
)

// ErrUnavailable is wrapped by whoever gives up on reaching the bus or a model.
var ErrUnavailable = errors.New("unavailable")

// ExitCode is the code that a program ends with for an error.
func ExitCode(err error) int {
	var faults Faults
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &faults):
		return ExitUsage
	case errors.Is(err, ErrUnavailable):
		return ExitUnavailable
	}
	return ExitFailure
}
