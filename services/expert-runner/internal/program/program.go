package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// Limits of one program.
const (
	// MostShown is how much of the output is kept, in bytes: half of it from the beginning and half from the end.
	MostShown = 48 << 10
	// MostPrinted is how much a program may print before it is ended, in bytes.
	MostPrinted = 64 << 20
	// mostSaid is how much of the output is passed on while it is written, in bytes.
	mostSaid = 1 << 20
	// afterlife is how long the output of an ended program is still read: a child that left its group may hold the pipe.
	afterlife = 2 * time.Second
)

// Runner runs programs for the tools of agents, all with the same settings.
type Runner struct {
	// Box is the sandbox of programs, and Policy what they may do besides writing to the workspace.
	Box    *sandbox.Box
	Policy sandbox.Policy
	// Path is where programs are looked for, and their PATH.
	Path string
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// Keeper ends a program when the runner dies.
	Keeper *process.Keeper
	// Secrets are removed from the output; may be nil.
	Secrets *redact.Set
}

// Order describes one program to run.
type Order struct {
	// Argv is the program with its arguments. A name without a slash is looked up in the path of the runner.
	Argv []string
	// Dir is the working folder, which the program may write to; Temp is the folder for temporary files inside it.
	Dir, Temp string
	// Input is its standard input.
	Input string
	// Timeout is how long it may run.
	Timeout time.Duration
	// Said gets the output while it is written, in whole characters; may be nil.
	Said func(text string)
}

// Result is how a program ended.
type Result struct {
	// Output is standard output and standard error in the order of writing, without what MostShown left out.
	Output string
	// Code is the exit code; Signal is the signal that ended it, if any.
	Code   int
	Signal syscall.Signal
	// Ended says why the program was ended by the runner; empty if it ended by itself.
	Ended string
	// Took is how long it ran.
	Took time.Duration
}

// ErrAbsent means that a program does not exist on this machine.
var ErrAbsent = errors.New("there is no such program")

// Find returns the path of a program. Errors: ErrAbsent.
func (r *Runner) Find(name string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, dir := range filepath.SplitList(r.Path) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%q is in none of %s: %w", name, r.Path, ErrAbsent)
}

// Run runs a program of a task to its end. The error is that of the context, of a lost claim, or of the sandbox: then the program
// did not run, or how it ended is unknown.
func (r *Runner) Run(ctx context.Context, t *expert.Task, o Order) (Result, error) {
	path, err := r.Find(o.Argv[0])
	if err != nil {
		return Result{}, err
	}
	cmd := &exec.Cmd{Path: path, Args: o.Argv, Dir: o.Dir, Env: []string{
		"PATH=" + r.Path, "HOME=" + o.Dir, "TMPDIR=" + o.Temp, "LANG=C.UTF-8", "JOBGRAPH_WORKSPACE=" + o.Dir,
	}}
	pipes, err := process.Connect(cmd)
	if err != nil {
		return Result{}, err
	}
	defer pipes.Close()
	cmd.Stderr = cmd.Stdout // One stream, in the order of writing.
	policy := r.Policy
	policy.Write, policy.Untrusted = append([]string{o.Dir}, policy.Write...), true
	entry, err := r.Box.Wrap(cmd, policy)
	if err != nil {
		pipes.Started()
		return Result{}, err
	}
	defer entry.Close()
	begun := time.Now()
	group, err := Start(ctx, cmd, t, r.Keeper)
	pipes.Started()
	entry.Started()
	if err != nil {
		return Result{}, err
	}
	if t.Claim != nil {
		defer t.Claim.Renewed(group.Renew)()
	}
	result, err := r.await(ctx, o, group, pipes)
	if err != nil {
		return Result{}, err
	}
	result.Took = time.Since(begun)
	code, signal, by, err := entry.Ending()
	if by {
		result.Code, result.Signal = code, signal
	}
	return result, err
}

// await reads the output until the program has ended, and ends it if necessary.
func (r *Runner) await(ctx context.Context, o Order, group *process.Group, pipes *process.Pipes) (Result, error) {
	bounded, end := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer end()
	flooded, stop := context.WithCancelCause(bounded)
	defer stop(nil)
	out := &output{said: o.Said, redactor: r.Secrets.Redactor().Stream(false), flood: func() { stop(errFlood) }}
	full := &Quota{Dir: o.Dir, Limit: r.Policy.Limits.Workspace}
	var copies sync.WaitGroup // The goroutines at the pipes, which end when the pipes do.
	copies.Go(func() {
		_, _ = io.WriteString(pipes.Stdin, o.Input) // The program may not read it.
		_ = pipes.Stdin.Close()
	})
	copies.Go(func() { _, _ = io.Copy(out, pipes.Stdout) })
	copies.Go(func() { full.Watch(group.Exited(), func() { stop(errFull) }) })
	killed := make(chan struct{})
	unwatch := context.AfterFunc(flooded, func() { defer close(killed); group.End(r.Grace) })
	ending, err := group.Wait()
	ended := context.Cause(flooded)
	if !unwatch() {
		<-killed
	}
	pipes.Until(time.Now().Add(afterlife))
	copies.Wait()
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return Result{}, fmt.Errorf("wait for program: %w", err)
	case ending.Why != "":
		return Result{}, errors.New(ending.Why)
	}
	result := Result{Output: out.text(), Code: ending.Code, Signal: ending.Signal}
	if full.Over {
		ended = errFull
	}
	switch {
	case errors.Is(ended, errTimeout):
		result.Ended = fmt.Sprintf("it ran longer than %s", o.Timeout)
	case errors.Is(ended, errFlood):
		result.Ended = fmt.Sprintf("it printed more than %d bytes", MostPrinted)
	case errors.Is(ended, errFull):
		result.Ended = fmt.Sprintf("the workspace held more than %d bytes", full.Limit)
	}
	return result, nil
}

// The reasons for which the runner ends a program.
var (
	errTimeout = errors.New("the program took too long")
	errFlood   = errors.New("the program printed too much")
	errFull    = errors.New("the workspace is full")
)
