package cli

import (
	"context"
	"errors"
	"io/fs"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// The exit codes of the program.
const (
	ExitOK           = 0   // Done; the job is FINISHED.
	ExitFailed       = 1   // The job is FAILED, or a difference was found.
	ExitUsage        = 2   // A flag, an argument, a file or a setting is wrong.
	ExitStopped      = 3   // The job is STOPPED.
	ExitWaiting      = 4   // The job waits for a person, and there is no terminal.
	ExitNotFound     = 5   // No such job, SubJob, request or expert.
	ExitConflict     = 6   // Another writer was first, or the state has changed.
	ExitBudget       = 7   // A budget is used up.
	ExitNotPermitted = 8   // Permission is missing.
	ExitGuidance     = 9   // The job could not be planned; its result says what is missing.
	ExitUnavailable  = 69  // The bus or the planning model cannot be reached.
	ExitTimeout      = 124 // --timeout has passed.
	ExitInterrupted  = 130 // A signal ended it.
	ExitUnread       = 141 // The reader of the output has disconnected.
)

// The causes of contexts that ended: errInterrupted by a signal, errUnread because the reader of the output has gone,
// errTimeout by --timeout, errStackFailed with the stack in this process.
var (
	errInterrupted = errors.New("interrupted")
	errUnread      = errors.New("the output has no reader")
	errTimeout     = errors.New("timeout")
	errStackFailed = errors.New("the embedded stack has failed")
)

// outcome is an error that only carries an exit code: everything has been printed already.
type outcome int

// Error is never printed.
func (o outcome) Error() string { return "exit" }

// usageError marks a mistake in what the user typed.
type usageError struct{ error }

// Unwrap returns the error that was marked.
func (u usageError) Unwrap() error { return u.error }

// exitCode returns the exit code for an error. The cause of the command's context takes precedence, since a command that
// was interrupted can fail in many ways.
func exitCode(ctx context.Context, err error) int {
	var code outcome
	var usage usageError
	var settings host.Faults
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	case errors.Is(context.Cause(ctx), errInterrupted):
		return ExitInterrupted
	case errors.Is(context.Cause(ctx), errUnread):
		return ExitUnread
	case errors.Is(context.Cause(ctx), errTimeout):
		return ExitTimeout
	case errors.As(err, &usage), errors.As(err, &settings), errors.Is(err, client.ErrExport), errors.Is(err, fs.ErrNotExist):
		return ExitUsage
	case errors.Is(err, bus.ErrNotFound):
		return ExitNotFound
	case errors.Is(err, bus.ErrConflict), errors.Is(err, client.ErrQuarantined):
		return ExitConflict
	case errors.Is(err, bus.ErrNotPermitted):
		return ExitNotPermitted
	case errors.Is(err, bus.ErrUnavailable), errors.Is(err, bus.ErrClosed), errors.Is(err, bus.ErrUnknown):
		return ExitUnavailable
	}
	return faultCode(faultsOf(err))
}

// faultCode returns the exit code of the first fault.
func faultCode(faults events.Faults) int {
	if len(faults) == 0 {
		return ExitFailed
	}
	switch faults[0].Code {
	case events.CodeNotFound, events.CodeUnknownExpert:
		return ExitNotFound
	case events.CodeConflict:
		return ExitConflict
	case events.CodeBudget:
		return ExitBudget
	case events.CodeNotPermitted:
		return ExitNotPermitted
	case events.CodeGuidance:
		return ExitGuidance
	case events.CodeUnavailable:
		return ExitUnavailable
	}
	if host.AskedWrongly(faults[0].Code) {
		return ExitUsage
	}
	return ExitFailed
}

// faultsOf finds the faults inside an error, in whichever form.
func faultsOf(err error) events.Faults {
	var many events.Faults
	var one *events.Fault
	var settings host.Faults
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return events.Faults{*one}
	case errors.As(err, &settings):
		return settings.Wire()
	case errors.Is(err, bus.ErrNotPermitted):
		return events.Faults{{
			Code: events.CodeNotPermitted, Message: err.Error(),
			Hint: "use a key whose role or rights allow this (NATS_NKEY); docs/security.md has what each may do, and `jobgraph init --secure` makes keys",
		}}
	}
	return nil
}

// ended returns the exit code of a job's end.
func ended(s *graph.State) error {
	fault := s.Error
	switch {
	case s.Status == events.Finished && s.Outcome == events.OutcomeGuidance:
		return outcome(ExitGuidance)
	case s.Status == events.Finished:
		return nil
	case s.Status == events.Stopped:
		return outcome(ExitStopped)
	case fault == nil:
	case fault.Code == events.CodeBudget:
		return outcome(ExitBudget)
	case fault.Code == events.CodeUnavailable && unplanned(s):
		return outcome(ExitUnavailable)
	}
	return outcome(ExitFailed)
}
