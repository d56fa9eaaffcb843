package sandbox

import (
	"fmt"
	"syscall"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The errors of forbidden system calls. clone3 hides its flags in memory, so it is reported as missing; the C library then calls
// clone, whose flags are visible.
const (
	denied  = seccomp.Action(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES))
	refused = seccomp.Action(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	missing = seccomp.Action(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
)

// newSpaces are the flags of clone and unshare that make namespaces.
const newSpaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// kernelCalls change the machine or reach parts of the kernel that no ordinary program needs.
var kernelCalls = []string{
	"acct", "add_key", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init", "finit_module", "fsconfig",
	"fsmount", "fsopen", "fspick", "init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie",
	"mount", "mount_setattr", "move_mount", "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree", "open_tree_attr",
	"perf_event_open", "pivot_root", "chroot", "quotactl", "quotactl_fd", "reboot", "request_key", "setns", "settimeofday", "stime", "swapoff",
	"swapon", "syslog", "umount", "umount2", "userfaultfd", "vhangup",
}

// sharedCalls reach memory and queues of other processes of the same user unless a namespace separates them.
var sharedCalls = []string{"shmget", "shmat", "shmctl", "semget", "semctl", "msgget", "msgctl", "mq_open", "mq_unlink"}

// modeCalls change modes, owners and attributes of files by name. Landlock does not guard these, so they are forbidden where mounts
// are not read-only.
var modeCalls = []string{
	"chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat",
	"setxattr", "lsetxattr", "setxattrat", "removexattr", "lremovexattr", "removexattrat", "file_setattr", "utime", "utimes",
}

// hiddenCalls do the work of other calls in ways that a filter cannot judge.
var hiddenCalls = []string{"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"}

// filterCalls forbids system calls to this thread and its children, as the order says. It needs no_new_privs, and comes last:
// afterwards nothing more can be restricted.
func filterCalls(o *order) error {
	info, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	p := callPolicy(o, info)
	program, err := p.Assemble()
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	// The filter knows the call numbers of one architecture. Calls of another one, such as 32-bit calls, end the program.
	program = append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4}, // arch in struct seccomp_data
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
	}, program...)
	raw, err := bpf.Assemble(program)
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	if _, errno := loadFilter(raw, 0); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// loadFilter adds a filter to this thread. The result is a descriptor if the flags ask for one.
func loadFilter(raw []bpf.RawInstruction, flags uintptr) (fd int, errno syscall.Errno) {
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	result, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	return int(result), errno
}

// callPolicy returns the rules for an order, without calls that the architecture lacks. Arguments are compared so that unused upper
// halves of registers can only make a call forbidden.
func callPolicy(o *order, info *arch.Info) seccomp.Policy {
	has := func(names ...string) (list []string) {
		for _, name := range names {
			if _, ok := info.SyscallNames[name]; ok {
				list = append(list, name)
			}
		}
		return list
	}
	p := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Action: refused, Names: has(kernelCalls...), NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: newSpaces}}},
			{Name: "unshare", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: newSpaces | unix.CLONE_NEWTIME}}},
		}},
		{Action: missing, Names: has(hiddenCalls...)},
		{Action: denied, NamesWithCondtions: socketRules(o)},
	}}
	if o.Untrusted && !o.Fixed {
		p.Syscalls = append(p.Syscalls, seccomp.SyscallGroup{Action: refused, Names: has(modeCalls...), NamesWithCondtions: timeRules(has)})
	}
	if !o.Spaces {
		p.Syscalls = append(p.Syscalls, seccomp.SyscallGroup{
			Action: refused, Names: has(sharedCalls...), NamesWithCondtions: append(pacing(), seccomp.NameWithConditions{
				Name: "prlimit64", // Forbidden only for another process.
				Conditions: seccomp.ArgumentConditions{
					{Argument: 0, Operation: seccomp.NotEqual, Value: 0}, {Argument: 2, Operation: seccomp.NotEqual, Value: 0},
				},
			}),
		})
	}
	return p
}

// pacing forbids slowing down or moving other processes by their ids if no namespace separates them: a program may do that only to
// itself and its group.
func pacing() (rules []seccomp.NameWithConditions) {
	for _, name := range []string{"sched_setaffinity", "sched_setattr", "sched_setscheduler", "sched_setparam"} {
		rules = append(rules, seccomp.NameWithConditions{
			Name: name, Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.NotEqual, Value: 0}},
		})
	}
	for name, own := range map[string][]uint64{"setpriority": {unix.PRIO_PROCESS, unix.PRIO_PGRP}, "ioprio_set": {ioprioWhoProcess, ioprioWhoPgrp}} {
		rules = append(rules,
			seccomp.NameWithConditions{Name: name, Conditions: noneOf(0, own)},
			seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.NotEqual, Value: 0}}})
	}
	return rules
}

// From linux/ioprio.h.
const (
	ioprioWhoProcess = 1
	ioprioWhoPgrp    = 2
)

// timeRules forbids setting the times of a file by its name; touch and tar use its descriptor.
func timeRules(has func(...string) []string) (rules []seccomp.NameWithConditions) {
	for _, name := range has("utimensat", "futimesat") {
		rules = append(rules, seccomp.NameWithConditions{
			Name: name, Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.NotEqual, Value: 0}},
		})
	}
	return rules
}

// socketRules allows the socket families that an order names. Socket pairs are allowed except datagrams, which could be sent to any
// path.
func socketRules(o *order) []seccomp.NameWithConditions {
	allowed := []uint64{}
	if o.Network || o.Spaces { // In a namespace without a network there is nothing else to reach.
		allowed = append(allowed, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	if o.Unix {
		allowed = append(allowed, unix.AF_UNIX)
	}
	rules := []seccomp.NameWithConditions{{Name: "socket", Conditions: noneOf(0, allowed)}}
	if !o.Unix {
		pairs := []uint64{}
		for _, kind := range []uint64{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
			pairs = append(pairs, kind, kind|unix.SOCK_CLOEXEC, kind|unix.SOCK_NONBLOCK, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		}
		rules = append(rules, seccomp.NameWithConditions{Name: "socketpair", Conditions: noneOf(1, pairs)})
	}
	return rules
}

// noneOf holds if an argument is none of the values; always if there are no values.
func noneOf(argument uint32, values []uint64) (list seccomp.ArgumentConditions) {
	for _, value := range values {
		list = append(list, seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: value})
	}
	if len(list) == 0 {
		list = seccomp.ArgumentConditions{{Argument: argument, Operation: seccomp.GreaterOrEqual, Value: 0}}
	}
	return list
}
