package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Group is a program with all processes of its process group.
type Group struct {
	exited chan struct{} // Closed when the program has ended, and its group was killed.
	ending Ending        // Both are written before exited is closed.
	err    error
	reach  reach
}

// reach is the connection to a group that has not ended yet.
type reach interface {
	// signal signals the whole group, and does nothing after its end.
	signal(s syscall.Signal)
	// renew says that the runner still wants the program.
	renew()
}

// Start runs the program in a new process group, without a keeper. Existing SysProcAttr settings are kept. On an error nothing was
// started.
func Start(cmd *exec.Cmd) (*Group, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	lead(cmd.SysProcAttr)
	d := &direct{cmd: cmd}
	g := &Group{exited: make(chan struct{}), reach: d}
	started := make(chan error, 1)
	go d.live(g, started) // Ends with the program.
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start program: %w", err)
	}
	return g, nil
}

// direct is a program that the runner has started itself.
type direct struct {
	cmd  *exec.Cmd
	mu   sync.Mutex // Guards gone, and is held while the group is signalled or reaped.
	gone bool       // The number of the group may have been reused.
}

// live starts the program and stays with it: its parent-death signal depends on the thread that started it, so that thread must
// not be reused.
func (d *direct) live(g *Group, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := d.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	await(d.cmd.Process.Pid)
	d.signal(syscall.SIGKILL) // Kills the rest of the group.
	d.mu.Lock()
	err = d.cmd.Wait()
	d.gone = true
	d.mu.Unlock()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		g.err = err
	}
	if status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		g.ending = endingOf(status)
	}
	close(g.exited)
}

func (d *direct) signal(s syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.gone {
		_ = syscall.Kill(-d.cmd.Process.Pid, s)
	}
}

func (*direct) renew() {} // Only its own runner ends it.

// Exited is closed when the program has ended and its whole group was killed.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Wait blocks until the program has ended and returns how it ended. An error means that this is unknown.
func (g *Group) Wait() (Ending, error) {
	<-g.exited
	return g.ending, g.err
}

// Signal signals the whole group. An empty group is not an error.
func (g *Group) Signal(s syscall.Signal) { g.reach.signal(s) }

// Renew says that the runner still wants the program. It may be called after the end.
func (g *Group) Renew() { g.reach.renew() }

// End sends SIGTERM to the group, kills it after the grace period, and waits for the end.
func (g *Group) End(grace time.Duration) {
	g.Signal(syscall.SIGTERM)
	if !g.Ends(grace) {
		g.Signal(syscall.SIGKILL)
		<-g.exited
	}
}

// Ends waits at most this long for the end of the program, and reports whether it has ended.
func (g *Group) Ends(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-g.exited:
		return true
	case <-timer.C:
		return false
	}
}
