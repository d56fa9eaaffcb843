package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// census is what a gate counts.
type census struct {
	mu      sync.Mutex // Guards the fields below.
	n, busy int64
	err     error
	taken   int // How often it was counted.
}

func (c *census) tasks() (n, busy int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken++
	return c.n, c.busy, c.err
}

// set changes what is counted next, and returns how often it was counted so far.
func (c *census) set(n, busy int64, err error) (taken int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.busy, c.err = n, busy, err
	return c.taken
}

// onThread calls a function on a thread of its own, which ends with it.
func onThread(do func()) {
	var over sync.WaitGroup
	over.Go(func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // The first thread of a process does not end with its goroutine.
			onThread(do)
			return
		}
		do()
	})
	over.Wait()
}

// A fork asks the gate of its thread, here with arguments that the kernel refuses once the gate has let it go on.
func TestAForkWaitsForItsGate(t *testing.T) {
	var c census
	g := newGate(0, 4)
	g.tasks = c.tasks
	var served sync.WaitGroup
	onThread(func() {
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			g.listener, err = openGate()
		}
		if err != nil {
			t.Logf("a gate cannot be tested here: %v", err)
			return
		}
		served.Go(g.serve)
		for i, step := range []struct {
			name    string
			n, busy int64
			err     error
			shut    bool
			want    syscall.Errno
			taken   int // How often it is counted until after the fork.
		}{
			{"beside the program", 9, 0, nil, false, unix.EINVAL, 0},
			{"a second one", 9, 0, nil, false, unix.EINVAL, 0},
			{"the last one without a count", 9, 0, nil, false, unix.EINVAL, 0},
			{"with room for three, while two may be in progress", 1, 2, nil, false, unix.EINVAL, 1},
			{"with room for two", 2, 0, nil, false, unix.EINVAL, 2},
			{"the second of these", 9, 0, nil, false, unix.EINVAL, 2},
			{"with room for three, while both may be in progress", 1, 9, nil, false, unix.EINVAL, 3},
			{"one too many", 4, 0, nil, false, unix.EAGAIN, 4},
			{"more than one too many", 9, 0, nil, false, unix.EAGAIN, 5},
			{"without a count", 1, 0, errors.New("hidden"), false, unix.EAGAIN, 6},
			{"with room for two again", 2, 0, nil, false, unix.EINVAL, 7},
			{"after the end of the program", 2, 0, nil, true, unix.EAGAIN, 7},
		} {
			c.set(step.n, step.busy, step.err)
			g.shut.Store(step.shut)
			_, _, errno := syscall.Syscall6(unix.SYS_CLONE, unix.CLONE_SIGHAND, 0, 0, 0, 0, 0)
			if taken := c.set(0, 0, nil); errno != step.want || taken != step.taken {
				t.Errorf("%d, %s: %v after %d counts, want %v after %d", i, step.name, errno, taken, step.want, step.taken)
			}
		}
	})
	served.Wait()
}

// However many forks wait, they wait for one count; those that were killed meanwhile take no room.
func TestAGateCountsOnceForAllThatWait(t *testing.T) {
	for n, want := range map[int64]int64{3: 1, 4: 0} {
		c := census{n: n}
		g := &gate{listener: -1, most: 4, tasks: c.tasks}
		if g.judge([]uint64{1, 2, 3}); g.room != want || c.taken != 1 {
			t.Errorf("with %d: room for %d after %d counts", n, g.room, c.taken)
		}
	}
}

// A process that runs may be in the middle of a fork that the gate has allowed, or may compute for as long as it likes.
func TestAGateWaitsForForksInProgress(t *testing.T) {
	for _, test := range []struct {
		name          string
		allowed       int64
		busy          []int64 // At each count, the last one from then on.
		room, forking int64
		counts        int
	}{
		{"none is in progress", 3, []int64{0}, 5, 0, 1},
		{"what runs was not allowed to fork", 0, []int64{9}, 5, 0, 1},
		{"some leave room", 3, []int64{9}, 2, 3, 1},
		{"those that leave no room take place", 5, []int64{9, 5, 4}, 1, 4, 3},
		{"those that run compute", 5, []int64{9}, 5, 0, mostWaits},
	} {
		synctest.Test(t, func(t *testing.T) {
			counts := 0
			g := &gate{most: 8, allowed: test.allowed, tasks: func() (n, busy int64, err error) {
				counts++
				return 3, test.busy[min(counts, len(test.busy))-1], nil
			}}
			begun := time.Now()
			if room := g.count(); room != test.room || g.allowed != test.forking || counts != test.counts || time.Since(begun) != time.Duration(counts)*settle {
				t.Errorf("%s: room for %d, %d in progress, after %d counts in %s", test.name, room, g.allowed, counts, time.Since(begun))
			}
		})
	}
}

// clone3 need not ask: the filter of calls reports it as missing.
func TestEveryCallThatForksAndTheHandlerOfSIGCHLDAsk(t *testing.T) {
	info := musttest.Get(arch.GetInfo(""))(t)
	program := musttest.Get(bpf.NewVM(gateProgram(info)))(t)
	for name, nr := range info.SyscallNames {
		for _, arg := range []syscall.Signal{unix.SIGCHLD, unix.SIGTERM} {
			want := unix.SECCOMP_RET_ALLOW
			if name == "clone" || name == "fork" || name == "vfork" || name == "rt_sigaction" && arg == unix.SIGCHLD {
				want = unix.SECCOMP_RET_USER_NOTIF
			}
			call := make([]byte, 64) // A struct seccomp_data, as the machine reads it.
			binary.BigEndian.PutUint32(call, uint32(nr))
			binary.BigEndian.PutUint32(call[16:], uint32(arg))
			if got, err := program.Run(call); err != nil || got != want {
				t.Errorf("%s(%v): %#x, %v, want %#x", name, arg, got, err, want)
			}
		}
	}
}
