package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// enter is the helper: it does what it is ordered and becomes the program, or waits for it. It gives the exit code.
func enter(path string, argv []string) int {
	runtime.LockOSThread() // What follows binds this thread, and who is started from it.
	says := os.NewFile(saidFD, "said")
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(saidFD)
	s := said{}
	if err := obey(path, argv, &s); err != nil {
		s = said{Fault: err.Error()}
	}
	_ = json.NewEncoder(says).Encode(s) // The reader is gone.
	if s.Fault != "" {
		return faultCode
	}
	return s.Code
}

// obey returns when there was a fault, or when the program has ended below us.
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
	if o.Init {
		// No child may inspect us.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("close to others: %w", err)
		}
	}
	if err := restrict(&o); err != nil {
		return err
	}
	switch {
	case o.Probe:
		return nil
	case o.Init:
		return watch(path, argv, o.Limits, s)
	}
	if err := o.Limits.set(0, true); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, unix.Exec(path, argv, os.Environ()))
}

// restrict takes rights away from this thread, in an order in which each step may still be taken.
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
	return dropCapabilities()
}

// dropCapabilities gives up every right of an administrator, for good.
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

// watch is the first process of its space: it starts the program, reaps every child, and ends with the program, whereupon
// the kernel kills all others.
func watch(path string, argv []string, l Limits, s *said) error {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught) // The program gets them itself, as one of the group; nothing ends us but its end.
	pid, err := l.start(path, argv, os.Environ())
	if err != nil {
		return err
	}
	for fd := range 3 { // The program alone has them, so that their end is its own.
		_ = unix.Close(fd)
	}
	for {
		var status syscall.WaitStatus
		dead, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for %s: %w", path, err)
		case dead == pid:
			*s = said{Ended: true, Code: status.ExitStatus()}
			if status.Signaled() {
				s.Signal, s.Code = int(status.Signal()), 128+int(status.Signal())
			}
			return nil
		}
	}
}
