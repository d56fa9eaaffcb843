package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The outcomes a program here can report; the contract knows one more, JOB_TOO_COMPLICATED_ERROR.
const (
	Success        = "SUCCESS"
	ExecutionError = "EXECUTION_ERROR"
	InputDataError = "INPUT_DATA_ERROR"
)

// Report is the answer of a command expert.
type Report struct {
	// Outcome is one of the outcomes above.
	Outcome string `json:"outcome"`
	// Output is the result of a success, any JSON value.
	Output any `json:"output,omitempty"`
	// Lesson tells the predecessors what to do better; only with INPUT_DATA_ERROR.
	Lesson string `json:"lesson,omitempty"`
	// Error says what went wrong.
	Error string `json:"error,omitempty"`
}

// Fault is an error in the input of the program, not in the program.
type Fault struct{ text string }

// Bad makes a Fault. The text says what is wrong, where, and what to do next.
func Bad(format string, args ...any) error { return &Fault{text: fmt.Sprintf(format, args...)} }

// Error returns the text.
func (f *Fault) Error() string { return f.text }

// Main is the whole main function of a program in this folder: it reads the task from standard input, does the work and exits.
// SIGTERM and SIGINT cancel the context.
func Main(work func(context.Context, Task) (any, error)) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Stdin, os.Stdout, os.Stderr, work)
	cancel()
	os.Exit(code)
}

// Run does the work of one task and writes its report to out, and the error also to errs in plain words. It returns
// the exit code: 0 when a report was written, whatever its outcome, else 1.
func Run(ctx context.Context, in io.Reader, out, errs io.Writer, work func(context.Context, Task) (any, error)) int {
	report := perform(ctx, in, work)
	if report.Error != "" {
		fmt.Fprintln(errs, report.Error)
	}
	if err := json.NewEncoder(out).Encode(report); err != nil {
		fmt.Fprintf(errs, "write report: %v\n", err)
		return 1
	}
	return 0
}

func perform(ctx context.Context, in io.Reader, work func(context.Context, Task) (any, error)) Report {
	t, err := Read(in)
	if err != nil {
		return Report{Outcome: InputDataError, Lesson: err.Error(), Error: err.Error()}
	}
	if !t.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.Deadline)
		defer cancel()
	}
	output, err := work(ctx, t)
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return Report{Outcome: InputDataError, Lesson: fault.text, Error: err.Error()}
	case err != nil:
		return Report{Outcome: ExecutionError, Error: err.Error()}
	}
	return Report{Outcome: Success, Output: output}
}
