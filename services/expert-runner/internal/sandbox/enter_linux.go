package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// enter is the helper: it executes its order and becomes the program, or waits for it. It returns the exit code.
func enter(path string, argv []string) int {
	runtime.LockOSThread() // The following affects this thread and its children.
	says := os.NewFile(saidFD, "said")
	s := said{}
	err := unix.CloseRange(orderFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // Including what the runner itself has inherited.
	if err == nil {
		err = obey(path, argv, &s)
	}
	if err != nil {
		s = said{Fault: err.Error()}
	}
	_ = json.NewEncoder(says).Encode(s) // The reader is gone if this fails.
	if s.Fault != "" {
		return faultCode
	}
	return s.Code
}

// obey returns on a fault, or when the program below us has ended.
func obey(path string, argv []string, s *said) error {
	var o order
	orders := os.NewFile(orderFD, "order")
	body, err := io.ReadAll(orders)
	if err = errors.Join(err, orders.Close()); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	if o.Reap {
		return adopt(path, argv, os.Environ(), o, s)
	}
	if o.Init {
		// No child may inspect us.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("close to others: %w", err)
		}
	}
	if o.Spaces {
		if err := view(&o); err != nil {
			return err
		}
		if !o.Network {
			_ = loopback() // Without it the program cannot talk to itself, which does no harm.
		}
	}
	if err := restrict(&o); err != nil {
		return err
	}
	switch {
	case o.Probe:
		s.Version = o.Version
		return nil
	case o.Init:
		return begin(path, argv, &o, s)
	}
	if o.Gate {
		if listener, err := openGate(); err == nil { // Otherwise the first helper counts.
			if err := sendGate(listener); err != nil {
				return err
			}
		}
	}
	if err := o.Limits.set(0, true); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, unix.Exec(path, argv, os.Environ()))
}

// begin starts the program below this process, which is the init process of its namespace, and waits for the program. Whatever it
// leaves behind ends with this process.
func begin(path string, argv []string, o *order, s *said) error {
	b, err := newBounds(o.Limits, killNamespace)
	if err != nil {
		return err
	}
	start := func() (int, error) { return o.Limits.start(path, argv, os.Environ(), o.Passed) }
	if !o.needsGate() {
		b.hold()
		return watch(s, o.Passed, start)
	}
	listener, err := openGate()
	if err != nil {
		b.processes = o.Limits.Processes
		b.hold()
		return watch(s, o.Passed, start)
	}
	b.gate = newGate(listener, o.Limits.Processes)
	// The first to ask is this process itself: it starts the program. Meanwhile its thread keeps a processor of the Go runtime and
	// cannot be stopped by it, so the gate needs another one, and no collection of garbage may begin.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), leastProcessors))
	collect := debug.SetGCPercent(-1)
	b.hold()
	return watch(s, o.Passed, func() (int, error) {
		defer debug.SetGCPercent(collect)
		return start()
	})
}

// leastProcessors is how many goroutines of a helper with a gate can run at the same time.
const leastProcessors = 4

// restrict removes rights from this thread, in an order in which each step is still permitted.
func restrict(o *order) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if o.Landlock {
		if err := landlock(o); err != nil {
			return err
		}
	}
	if err := o.Limits.set(0, false); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return filterCalls(o)
}

// dropCapabilities gives up all capabilities permanently.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// watch is the init process of a namespace, or the adoptive parent of whatever the program leaves behind: it starts the program,
// reaps every child, and returns when the program has ended.
func watch(s *said, passed int, start func() (pid int, err error)) error {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught) // The program gets signals itself as a member of the group; this process ends only with it.
	pid, err := start()
	if err != nil {
		return err
	}
	for fd := range 3 { // Only the program has them, so that they close when it ends.
		_ = unix.Close(fd)
	}
	for n := range passed {
		_ = unix.Close(passedFD + n)
	}
	for {
		var status syscall.WaitStatus
		dead, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for the program: %w", err)
		case dead == pid:
			*s = said{Ended: true, Code: status.ExitStatus()}
			if status.Signaled() {
				s.Signal, s.Code = int(status.Signal()), 128+int(status.Signal())
			}
			return nil
		}
	}
}
