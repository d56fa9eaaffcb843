package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keeping is the keeper process: the parent of programs, which also adopts their orphaned children.
type keeping struct {
	after time.Duration
	said  chan []byte   // Frames that the runner has not read yet, because it is suspended.
	alone chan struct{} // Closed when the connection has ended and no process is left.

	mu       sync.Mutex // Guards the fields below, and is held while a process is started, signalled or reaped, so that process ids stay valid.
	born     *sync.Cond // Uses mu; signalled when a program was started, or the connection has ended.
	programs map[int]*program
	leaders  map[int]*program // By process id.
	behind   bool             // said has frames.
	over     bool
}

// program is a program that the keeper has started and whose end it has not reported yet.
type program struct {
	number, pid int
	mark        string
	timer       *time.Timer // Ends the program unless it is renewed.
	why         string
}

// roomForWords is how many frames may wait for a suspended runner; there are two per program.
const roomForWords = 1 << 14

// keeperLine is the descriptor of the keeper's end of the connection.
const keeperLine = 3

// keep runs the keeper process and returns the exit code.
func keep(after string) int {
	runtime.LockOSThread() // Programs die with the thread that started them.
	// These signals would end the keeper. If it ignored them, programs would ignore them as well.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	limit, err := time.ParseDuration(after)
	if err != nil {
		return 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	unix.CloseOnExec(keeperLine)
	k := &keeping{
		after: limit, said: make(chan []byte, roomForWords), alone: make(chan struct{}), programs: map[int]*program{}, leaders: map[int]*program{},
	}
	k.born = sync.NewCond(&k.mu)
	// Both end with the process.
	go k.bury()
	go k.speak()
	k.listen()
	k.finish()
	return 0
}

// Now returns the present Moment.
func Now() Moment {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // Every kernel since 2.6.39 has it.
	return Moment(t.Nano())
}

// listen executes orders until the runner closes the connection or dies.
func (k *keeping) listen() {
	for {
		o := &order{}
		fds, err := receive(blocking(keeperLine), o)
		if err != nil {
			closeAll(fds)
			return
		}
		k.mu.Lock()
		if o.Path != "" {
			k.start(o, fds)
		} else if p := k.programs[o.Program]; p != nil {
			k.obey(p, o.Signal)
		}
		k.mu.Unlock()
	}
}

// obey renews a program, or signals it. k.mu is held.
func (k *keeping) obey(p *program, s syscall.Signal) {
	switch s {
	case 0:
		p.timer.Reset(k.after)
	case syscall.SIGKILL:
		k.kill(p)
	default:
		_ = syscall.Kill(-p.pid, s) // It may have ended.
	}
}

// say sends a frame to the runner without waiting. k.mu is held.
func (k *keeping) say(w word) {
	text, err := frame(&w)
	if err != nil {
		return // A frame contains only numbers and text.
	}
	if !k.behind {
		_, err := unix.SendmsgN(keeperLine, text, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EAGAIN) {
			return // It was sent, or the runner is dead.
		}
	}
	k.behind = true
	k.said <- text
}

// speak sends the frames that the runner was not ready to read.
func (k *keeping) speak() {
	for text := range k.said {
		_, _ = unix.SendmsgN(keeperLine, text, nil, nil, unix.MSG_NOSIGNAL) // A runner that does not read is dead.
		k.mu.Lock()
		k.behind = len(k.said) > 0
		k.mu.Unlock()
	}
}

// start starts a program in a new process group. k.mu is held.
func (k *keeping) start(o *order, fds []int) {
	defer closeAll(fds)
	if o.Until != 0 && Now() > o.Until { // The runner was suspended after it had checked its claim.
		k.say(word{Program: o.Program, Late: true})
		return
	}
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Sys: &syscall.SysProcAttr{
		Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: o.Clone, UidMappings: o.Users, GidMappings: o.Groups,
		AmbientCaps: o.Ambient,
	}}
	for _, fd := range fds {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(o.Path, o.Args, attr)
	if err != nil {
		k.say(word{Program: o.Program, Fault: fmt.Sprintf("fork/exec %s: %v", o.Path, err)})
		return
	}
	p := &program{number: o.Program, pid: pid, mark: markOf(o.Env)}
	p.timer = time.AfterFunc(k.after, func() { k.orphaned(p) })
	k.programs[p.number], k.leaders[pid] = p, p
	k.say(word{Program: o.Program})
	k.born.Broadcast()
}

// orphaned ends a program that was not renewed in time.
func (k *keeping) orphaned(p *program) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.programs[p.number] == p {
		p.why = Orphaned
		k.kill(p)
	}
}

// kill kills a program: its group, and processes that left the group and still have a parent in it. k.mu is held, and the leader
// is not reaped.
func (k *keeping) kill(p *program) {
	left := descendants(p.pid)
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // It may have ended.
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL) // It may have been in the group.
	}
	k.collect(p.mark, looks)
}

// collect kills adopted processes with a mark, and repeats this a few times: during exec a process has no mark for a moment. k.mu
// is held.
func (k *keeping) collect(mark string, times int) {
	strangers := false
	for _, pid := range adopted() {
		if k.leaders[pid] != nil {
			continue
		}
		strangers = true
		if !marked(pid, mark) {
			continue
		}
		for _, pid := range append(descendants(pid), pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended.
		}
	}
	if strangers && times > 1 {
		time.AfterFunc(lookAgain, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.collect(mark, times-1)
		})
	}
}

// bury reaps processes: programs, whose ends it reports, and adopted ones.
func (k *keeping) bury() {
	for {
		pid, err := dead()
		switch {
		case errors.Is(err, syscall.ECHILD) && !k.another():
			close(k.alone)
			return
		case err != nil:
			continue
		}
		k.mu.Lock()
		p := k.leaders[pid]
		if p != nil {
			_ = syscall.Kill(-pid, syscall.SIGKILL) // Not yet reaped, so the number is still its own.
		}
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(pid, &status, 0, nil) // The process has ended, so this does not block.
		if p != nil {
			p.timer.Stop()
			delete(k.programs, p.number)
			delete(k.leaders, pid)
			ending := endingOf(status)
			ending.Why = p.why
			k.collect(p.mark, looks) // Its orphans have been adopted by now.
			k.say(word{Program: p.number, Ending: &ending})
		}
		k.mu.Unlock()
	}
}

// another waits until there is a program; false if there will be no more.
func (k *keeping) another() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.programs) == 0 && !k.over {
		k.born.Wait()
	}
	return len(k.programs) > 0
}

// dead waits until a child has ended, without reaping it.
func dead() (pid int, err error) {
	var info [128]byte
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	// After three numbers, aligned to a pointer (sigaction(2), siginfo_t).
	at := (12 + unsafe.Sizeof(uintptr(0)) - 1) / unsafe.Sizeof(uintptr(0)) * unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Pointer(&info[at]))), nil
}

// Limits at the end of a keeper: how long it goes on killing, and how often.
const (
	lastKills = 8 * time.Second
	killAgain = 2 * time.Millisecond
)

// finish kills everything that was started, wherever it is.
func (k *keeping) finish() {
	k.mu.Lock()
	k.over = true
	k.born.Broadcast()
	k.mu.Unlock()
	for end := time.Now().Add(lastKills); time.Now().Before(end); {
		k.mu.Lock()
		for pid := range k.leaders { // any order: all are killed.
			_ = syscall.Kill(-pid, syscall.SIGKILL) // It may have ended.
		}
		for _, pid := range descendants(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended.
		}
		k.mu.Unlock()
		select {
		case <-k.alone:
			return
		case <-time.After(killAgain):
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // The descriptors belong to this process.
	}
}
