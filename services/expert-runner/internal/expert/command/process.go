package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// afterlife is how long the pipes of a process that has ended are read: a child that left its group may hold them for ever.
const afterlife = 2 * time.Second

// process is one run of a program.
type process struct {
	cmd    *exec.Cmd
	grace  time.Duration
	exited chan struct{} // Closed when the leader has ended.
	pipes  []*os.File
	copies sync.WaitGroup // The goroutines at the pipes; they end when the pipes do.
}

// run starts the program, feeds it, reads it and returns when its whole group has ended or was killed. The end of ctx tells the group
// to end, and kills it after the grace.
func run(ctx context.Context, cmd *exec.Cmd, input []byte, limit int64, grace time.Duration) (*ended, error) {
	// The parent-death signal follows the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &process{cmd: cmd, grace: grace, exited: make(chan struct{})}
	out := &capture{limit: limit, overflow: cancel}
	errs := &tail{}
	if err := p.start(input, out, errs); err != nil {
		return nil, err
	}
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(killed); p.end() })
	await(cmd.Process.Pid)
	close(p.exited)
	p.signal(syscall.SIGKILL) // Whoever is left of the group.
	err := cmd.Wait()
	if !stop() {
		<-killed
	}
	p.finish()
	e := &ended{stdout: out.kept, overflow: out.full, stderr: errs.text()}
	return e, e.status(err, cmd)
}

// start makes the pipes by hand: those of os/exec would wait for grandchildren.
func (p *process) start(input []byte, out *capture, errs *tail) error {
	var childs []*os.File
	defer func() {
		for _, f := range childs {
			_ = f.Close() // The child has its own.
		}
	}()
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start program: %w", err)
	}
	p.pipes, childs = append(p.pipes, stdinW), append(childs, stdinR)
	outR, outW, err := os.Pipe()
	if err != nil {
		p.close()
		return fmt.Errorf("start program: %w", err)
	}
	p.pipes, childs = append(p.pipes, outR), append(childs, outW)
	errR, errW, err := os.Pipe()
	if err != nil {
		p.close()
		return fmt.Errorf("start program: %w", err)
	}
	p.pipes, childs = append(p.pipes, errR), append(childs, errW)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdinR, outW, errW
	lead(p.cmd)
	if err := p.cmd.Start(); err != nil {
		p.close()
		return fmt.Errorf("start program: %w", err)
	}
	p.copies.Go(func() { drain(stdinW, bytes.NewReader(input)); _ = stdinW.Close() }) // It may have been closed early.
	p.copies.Go(func() { drain(out, outR) })
	p.copies.Go(func() { drain(errs, errR) })
	return nil
}

// end tells the group to end, and kills it when it does not.
func (p *process) end() {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
	}
}

// signal reaches the whole group. That nobody is left is no error.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// finish reads what is still in the pipes, then closes them.
func (p *process) finish() {
	for _, f := range p.pipes {
		_ = f.SetDeadline(time.Now().Add(afterlife)) // Pipes of the runtime's poller always take one.
	}
	p.copies.Wait()
	p.close()
}

func (p *process) close() {
	for _, f := range p.pipes {
		_ = f.Close() // The writer's copy may have closed it before.
	}
}

func (e *ended) status(err error, cmd *exec.Cmd) error {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("wait for program: %w", err)
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		e.signal = status.Signal().String()
	}
	e.code = cmd.ProcessState.ExitCode()
	return nil
}
