package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// afterlife is how long to read the pipes of an ended process: a child that left its group may hold them open for ever.
const afterlife = 2 * time.Second

// run starts the program, writes its input, reads its output, and returns when its whole group has ended or was killed.
// When ctx ends, the group is asked to end and killed after the grace.
func (c *Config) run(ctx context.Context, cmd *exec.Cmd, input []byte, t *expert.Task) (*ended, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pipes, err := process.Connect(cmd)
	if err != nil {
		return nil, err
	}
	defer pipes.Close()
	dir := cmd.Dir
	entry, err := c.enter(cmd)
	if err != nil {
		pipes.Started()
		return nil, err
	}
	defer entry.Close()
	group, err := program.Start(ctx, cmd, t, c.Keeper)
	pipes.Started()
	entry.Started()
	if err != nil {
		return nil, err
	}
	if t.Claim != nil {
		defer t.Claim.Renewed(group.Renew)()
	}
	out := &capture{limit: c.Stdout, overflow: cancel}
	errs := &process.Tail{Limit: maxLog, Redactor: c.Secrets.Redactor()}
	lines := &expert.Lines{Task: t, ID: "stderr"}
	full := &program.Quota{Dir: dir, Limit: c.Policy.Limits.Workspace}
	var copies sync.WaitGroup                                                                 // The goroutines at the pipes; they end when the pipes do.
	copies.Go(func() { drain(pipes.Stdin, bytes.NewReader(input)); _ = pipes.Stdin.Close() }) // The program may have closed it early.
	copies.Go(func() { drain(out, pipes.Stdout) })
	copies.Go(func() { drain(io.MultiWriter(errs, lines), pipes.Stderr) })
	copies.Go(func() { full.Watch(group.Exited(), cancel) })
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(killed); group.End(c.Grace) })
	ending, err := group.Wait()
	if !stop() {
		<-killed
	}
	pipes.Until(time.Now().Add(afterlife)) // The rest of their content is read.
	copies.Wait()
	lines.End()
	if log := errs.Text(); log != "" && t.Logged != nil {
		t.Logged(log)
	}
	e := &ended{stdout: c.Secrets.Redactor().JSON(out.kept), overflow: out.full, stderr: errs.End(maxTail), full: full.Over}
	return e, e.status(entry, ending, err)
}

// enter puts the program into its sandbox.
func (c *Config) enter(cmd *exec.Cmd) (*sandbox.Entry, error) {
	if c.Box == nil {
		return &sandbox.Entry{}, nil
	}
	p := c.Policy
	p.Write = append([]string{cmd.Dir}, p.Write...)
	return c.Box.Wrap(cmd, p)
}

// cutOff is the error of a program that its keeper ended, or that died with it: its progress is unknown.
type cutOff struct{ why string }

func (c *cutOff) Error() string { return c.why }

// status returns how the program ended: from the helper that waited for it, else from the operating system.
func (e *ended) status(entry *sandbox.Entry, ending process.Ending, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("wait for program: %w", err)
	case ending.Why != "":
		return &cutOff{ending.Why}
	}
	code, signal, by, err := entry.Ending()
	if err != nil {
		return err
	}
	if by {
		e.code, e.signal = code, signal
		return nil
	}
	e.code, e.signal = ending.Code, ending.Signal
	return nil
}
