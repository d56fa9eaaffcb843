package sandbox

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// limit is one of Limits as the kernel defines it.
type limit struct {
	name        string
	resource    int
	soft, hard  uint64
	given       bool
	ofTheWorker bool // It would also limit the helper, which has several threads.
}

func (l Limits) list() []limit {
	return []limit{
		{"core", unix.RLIMIT_CORE, 0, 0, true, false},
		{"cpu", unix.RLIMIT_CPU, l.seconds(), l.seconds() + 1, l.CPU > 0, false}, // The soft limit sends a signal, the hard limit kills.
		{"files", unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files), true, false},
		{"file_size", unix.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize), true, false},
		{"memory", unix.RLIMIT_DATA, uint64(l.Memory), uint64(l.Memory), l.Memory > 0, true},
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes), uint64(l.Processes), l.Processes > 0, true},
	}
}

// hold reports whether there are limits for the program alone.
func (l Limits) hold() bool { return l.Memory > 0 || l.Processes > 0 }

// set limits a process, 0 being this one, and its children: by the limits of the program alone, or by all others.
func (l Limits) set(pid int, ofTheWorker bool) error {
	for _, one := range l.list() {
		if !one.given || one.ofTheWorker != ofTheWorker {
			continue
		}
		if err := one.set(pid); err != nil {
			return fmt.Errorf("limit %s: %w", one.name, err)
		}
	}
	return nil
}

// set never raises an existing limit.
func (l limit) set(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, l.resource, nil, &now); err != nil {
		return err
	}
	now.Max = min(now.Max, l.hard)
	now.Cur = min(now.Max, l.soft)
	if pid == 0 {
		return unix.Setrlimit(l.resource, &now) // Not by a raw system call: the Go runtime would restore the old limit of open files.
	}
	return unix.Prlimit(pid, l.resource, &now, nil)
}

// start starts the program below this process, with the descriptors that were passed for it. Limits for the program alone are set
// while it is stopped before its first instruction.
func (l Limits) start(path string, argv, env []string, passed int) (pid int, err error) {
	files := []uintptr{0, 1, 2}
	for n := range passed {
		files = append(files, uintptr(passedFD+n))
	}
	attr := &syscall.ProcAttr{Env: env, Files: files, Sys: &syscall.SysProcAttr{Ptrace: l.hold()}}
	if pid, err = syscall.ForkExec(path, argv, attr); err != nil {
		return 0, fmt.Errorf("run %s: %w", path, err)
	}
	if !l.hold() {
		return pid, nil
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		return 0, fmt.Errorf("hold %s: %w", path, err)
	}
	if err := l.set(pid, true); err != nil {
		return 0, err // It dies with this process without having run.
	}
	if err := syscall.PtraceDetach(pid); err != nil {
		return 0, fmt.Errorf("let go of %s: %w", path, err)
	}
	return pid, nil
}
