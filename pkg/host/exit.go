package host

import (
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Exit codes of a service process.
const (
	ExitOK          = 0   // The process ended normally.
	ExitFailure     = 1   // Ended with an error; for healthcheck: not ready.
	ExitUsage       = 2   // A flag, a setting or a configuration file is wrong.
	ExitNotFound    = 5   // Something that the service was asked to read does not exist.
	ExitUnavailable = 69  // The bus or a model cannot be reached.
	ExitInterrupted = 130 // A second signal asked to end at once.
)

// ErrUnavailable is wrapped by errors of an unreachable bus or model.
var ErrUnavailable = errors.New("unavailable")

// ExitCode returns the exit code for an error; of several faults the first decides.
func ExitCode(err error) int {
	var faults Faults
	var wire events.Faults
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &faults):
		return ExitUsage
	case errors.Is(err, ErrUnavailable):
		return ExitUnavailable
	case errors.As(err, &wire) && len(wire) > 0:
		return faultCode(wire[0].Code)
	}
	return ExitFailure
}

func faultCode(code events.Code) int {
	switch {
	case AskedWrongly(code):
		return ExitUsage
	case code == events.CodeNotFound:
		return ExitNotFound
	case code == events.CodeUnavailable:
		return ExitUnavailable
	}
	return ExitFailure
}

// AskedWrongly reports whether a fault is an error of usage or configuration, which the user must correct first.
func AskedWrongly(code events.Code) bool {
	switch code {
	case events.CodeMalformed, events.CodeUnknownField, events.CodeInvalid, events.CodeMissing, events.CodeTooLarge,
		events.CodeDuplicateID, events.CodeCycle, events.CodeDangling, events.CodeHiddenExpert,
		CodeUnreadable, CodeDuplicateKey, CodeUnknownVariable:
		return true
	}
	return false
}
