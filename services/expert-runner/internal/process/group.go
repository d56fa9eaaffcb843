package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Group is a program with everything that it has started in its process group.
type Group struct {
	cmd    *exec.Cmd
	exited chan struct{} // Closed when the program has ended, and its group was killed.
	err    error         // What waiting for it gave; written before exited is closed.
	mu     sync.Mutex    // Guards gone, and is held while the group is signalled or its number given back.
	gone   bool          // The number of the group may be somebody else's.
}

// Start runs the program in a group of its own. What its SysProcAttr says already is kept. Nothing has been started when there is
// an error.
func Start(cmd *exec.Cmd) (*Group, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	lead(cmd.SysProcAttr)
	g := &Group{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error, 1)
	go g.live(started) // Ends with the program.
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start program: %w", err)
	}
	return g, nil
}

// live starts the program and stays with it: the signal that it gets when its parent dies follows the thread that has started
// it, which nobody else may have meanwhile.
func (g *Group) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := g.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	await(g.cmd.Process.Pid)
	g.Signal(syscall.SIGKILL) // Whoever is left of the group.
	g.mu.Lock()
	g.err = g.cmd.Wait()
	g.gone = true
	g.mu.Unlock()
	close(g.exited)
}

// Exited is closed when the program has ended and its whole group was killed.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Wait blocks until then and gives how the program has ended, and the error of exec.Cmd.Wait.
func (g *Group) Wait() (*os.ProcessState, error) {
	<-g.exited
	return g.cmd.ProcessState, g.err
}

// Signal reaches the whole group. That nobody is left is no error.
func (g *Group) Signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gone {
		_ = syscall.Kill(-g.cmd.Process.Pid, s)
	}
}

// End tells the group to end, kills it when it has not done so within the grace, and waits until it has.
func (g *Group) End(grace time.Duration) {
	g.Signal(syscall.SIGTERM)
	if !g.Ends(grace) {
		g.Signal(syscall.SIGKILL)
		<-g.exited
	}
}

// Ends waits for the end of the program, for so long, and says whether it has come.
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
