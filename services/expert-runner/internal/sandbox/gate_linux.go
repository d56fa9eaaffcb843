package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// gate bounds the processes and threads of a program where the kernel does not: each fork waits in the kernel until the gate has
// answered (SECCOMP_RET_USER_NOTIF). The gate does not depend on how fast the program forks, since it is asked before the fork.
type gate struct {
	listener int
	most     int64
	room     int64 // How many may be started before they are counted again.
	allowed  int64 // How many forks may be in progress: those that were allowed since the last count.
	shut     atomic.Bool
	// tasks counts what was started, and how much of it may be running.
	tasks func() (n, busy int64, err error)
}

func newGate(listener int, most int64) *gate {
	return &gate{listener: listener, most: most, room: most - 1, tasks: process.CountTasks}
}

// settle is how long the gate waits before it counts, for the forks that it has allowed to take place; it does so at most mostWaits
// times.
const (
	settle    = 5 * time.Millisecond
	mostWaits = 20
)

// forkCalls start processes and threads; clone3 is forbidden.
var forkCalls = []string{"clone", "fork", "vfork"}

// openGate makes the forks of this thread and its children wait for an answer, and returns the descriptor on which they ask. It
// comes after filterCalls, which ends calls of other architectures. An error says that the kernel offers no such descriptor, or that
// the container has one already.
func openGate() (listener int, err error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return 0, fmt.Errorf("ask before forks: %w", err)
	}
	raw, err := bpf.Assemble(gateProgram(info))
	if err != nil {
		return 0, fmt.Errorf("ask before forks: %w", err)
	}
	listener, errno := loadFilter(raw, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == unix.EINVAL { // Before Linux 5.19 a signal can interrupt the wait; the call is repeated.
		listener, errno = loadFilter(raw, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errno != 0 {
		return 0, fmt.Errorf("ask before forks: %w", errno)
	}
	return listener, nil
}

// gateProgram is the seccomp filter. It lets all calls pass except forks and the installation of handlers for SIGCHLD, which wait
// for the gate's answer (see restartCalls).
func gateProgram(info *arch.Info) []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}} // nr in struct seccomp_data
	for _, name := range forkCalls {
		if nr, ok := info.SyscallNames[name]; ok {
			program = append(program,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: 1},
				bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
		}
	}
	if nr, ok := info.SyscallNames["rt_sigaction"]; ok {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: 3},
			bpf.LoadAbsolute{Off: 16, Size: 4}, // the lower half of args[0]
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(unix.SIGCHLD), SkipTrue: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	}
	return append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// question and answer are struct seccomp_notif and struct seccomp_notif_resp.
type (
	question struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		from       uint64
		args       [6]uint64
	}
	answer struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
)

// serve answers until nothing can ask any more. If it fails, every fork fails.
func (g *gate) serve() {
	defer func() { _ = unix.Close(g.listener) }()
	// Since Linux 6.6 this process wakes on the processor of the one that asks, which is sooner. Older ones refuse the call.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(g.listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		waiting, err := g.receive()
		if err != nil {
			return
		}
		g.judge(waiting)
	}
}

// judge answers forks that wait. It counts at most once for all of them, however many they are.
func (g *gate) judge(waiting []uint64) {
	counted := false
	for _, id := range waiting {
		if g.room <= 0 && !counted && !g.shut.Load() {
			g.room, counted = g.count(), true
		}
		g.answer(id, g.room > 0 && !g.shut.Load())
	}
}

// receive waits for a fork, and returns the ids of all forks that wait. It waits in the call that takes the question, since a signal
// can interrupt a fork until its question is taken.
func (g *gate) receive() (waiting []uint64, err error) {
	for len(waiting) == 0 || g.polls(unix.POLLIN) {
		var q question
		switch errno := g.control(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&q)); errno {
		case 0:
			if q.nr == unix.SYS_RT_SIGACTION {
				g.restartCalls(&q)
			} else {
				waiting = append(waiting, q.id)
			}
		case unix.EINTR:
		case unix.ENOENT: // The process was killed, a signal has interrupted it, or nothing is left that can ask.
			if g.polls(unix.POLLHUP) {
				return nil, io.EOF
			}
		default:
			return nil, fmt.Errorf("hear of a fork: %w", errno)
		}
	}
	return waiting, nil
}

// polls reports whether an event of poll(2) is there already.
func (g *gate) polls(event int16) bool {
	ready := []unix.PollFd{{Fd: int32(g.listener), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, 0)
	return err == nil && n > 0 && ready[0].Revents&event != 0
}

// flagsOffset is that of sa_flags in the kernel's struct sigaction, on all 64-bit systems that have a gate; saRestart is SA_RESTART.
const (
	flagsOffset = 8
	saRestart   = 0x10000000
)

// restartCalls sets SA_RESTART for a handler of SIGCHLD before it is installed. Without a gate no signal makes a fork fail; with one, a
// signal whose handler has no such flag does, and shells handle SIGCHLD, which arrives whenever they start one process while another
// ends. If the memory of the process cannot be written, the handler stays as it is.
func (g *gate) restartCalls(q *question) {
	var flags uint64
	local := []unix.Iovec{{Base: (*byte)(unsafe.Pointer(&flags)), Len: uint64(unsafe.Sizeof(flags))}}
	remote := []unix.RemoteIovec{{Base: uintptr(q.args[1]) + flagsOffset, Len: int(unsafe.Sizeof(flags))}}
	if _, err := unix.ProcessVMReadv(int(q.pid), local, remote, 0); q.args[1] != 0 && err == nil {
		flags |= saRestart
		// The process still waits, so its number belongs to it.
		if id := q.id; g.control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == 0 {
			_, _ = unix.ProcessVMWritev(int(q.pid), local, remote, 0)
		}
	}
	a := answer{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_ = g.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // On an error the process no longer waits.
}

// answer lets a fork go on, or refuses it.
func (g *gate) answer(id uint64, allowed bool) {
	a := answer{id: id, err: -int32(unix.EAGAIN)} // As for a user whom the kernel bounds.
	if allowed {
		a = answer{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	if errno := g.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)); errno == 0 && allowed {
		g.room-- // On an error the process no longer waits.
		g.allowed++
	}
}

// count returns how many may be started now. A fork that was allowed and has not taken place yet is in a process that runs, since those
// that ask meanwhile sleep: if the limit depends on such forks, count waits for them.
func (g *gate) count() (room int64) {
	for range mostWaits {
		<-time.After(settle)
		n, busy, err := g.tasks()
		if err != nil {
			return 0
		}
		room = g.most - n
		forking := min(busy, g.allowed)
		if room <= 0 || room > forking {
			g.allowed = forking
			return room - forking
		}
	}
	g.allowed = 0
	return room
}

func (g *gate) control(request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(g.listener), request, uintptr(argument))
	return errno
}

// needsGate reports whether only a gate bounds the program's processes: the kernel does not bound those of root, except in a
// namespace of processes whose settings can be written (boundProcesses), and there not to small numbers.
func (o *order) needsGate() bool {
	exact := o.Counted && o.Limits.Processes >= leastProcesses
	return os.Geteuid() == 0 && o.Limits.Processes > 0 && !exact
}

// sendGate passes the descriptor of a gate to the process that serves it.
func sendGate(listener int) error {
	if err := unix.Sendmsg(gateFD, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("pass the gate: %w", err)
	}
	return nil
}

// receiveGate returns the gate that sendGate has passed; nil if the other side has closed the connection instead.
func receiveGate(socket int, most int64) (*gate, error) {
	buffer, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := unix.Recvmsg(socket, buffer, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("receive the gate: %w", err)
	}
	if n == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("receive the gate: it has no descriptor"), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return nil, errors.Join(errors.New("receive the gate: it has no descriptor"), err)
	}
	return newGate(files[0], most), nil
}
