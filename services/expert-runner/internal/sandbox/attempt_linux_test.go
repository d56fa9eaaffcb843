package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"golang.org/x/sys/unix"
)

// attempts are ways out of a sandbox, by name. Each returns nil if it succeeded.
func attempts() map[string]func(o *outside) error {
	all := map[string]func(*outside) error{}
	for _, list := range []map[string]func(*outside) error{fileAttempts, networkAttempts, processAttempts, kernelAttempts} {
		maps.Copy(all, list)
	}
	return all
}

func (o *outside) secret() string { return filepath.Join(o.Dir, "secret") }

func holds(data []byte, err error) error {
	if err == nil && !strings.Contains(string(data), "classified") {
		err = fmt.Errorf("read %q", data)
	}
	return err
}

var fileAttempts = map[string]func(*outside) error{
	"read a file":                  func(o *outside) error { return holds(os.ReadFile(o.secret())) },
	"list a folder":                func(o *outside) error { _, err := os.ReadDir(o.Dir); return err },
	"read by a symbolic link":      func(o *outside) error { return errors.Join(os.Symlink(o.secret(), "l"), holdsFile("l")) },
	"read by a hard link":          func(o *outside) error { return errors.Join(os.Link(o.secret(), "l"), holdsFile("l")) },
	"read by the root of proc":     func(o *outside) error { return holdsFile("/proc/self/root" + o.secret()) },
	"read by a folder's proc link": func(o *outside) error { return holdsFile("/proc/self/cwd/../../../../../../.." + o.secret()) },
	"read by climbing":             func(o *outside) error { return holdsFile("../../../../../../../../.." + o.secret()) },
	"copy by a shell":              func(o *outside) error { return shell("cp " + o.secret() + " c") },
	"execute a file": func(o *outside) error {
		out, err := exec.Command(filepath.Join(o.Dir, "script")).Output()
		return holds(out, err)
	},
	"write a new file": func(o *outside) error { return os.WriteFile(filepath.Join(o.Dir, "new"), nil, 0o600) },
	"truncate a file":  func(o *outside) error { return os.Truncate(o.secret(), 1) },
	"append to a file": func(o *outside) error { return shell("echo x >>" + o.secret()) },
	"delete a file":    func(o *outside) error { return os.Remove(o.secret()) },
	"delete a folder":  func(o *outside) error { return os.Remove(filepath.Join(o.Dir, "empty")) },
	"make a folder":    func(o *outside) error { return os.Mkdir(filepath.Join(o.Dir, "new"), 0o700) },
	"make a link":      func(o *outside) error { return os.Symlink("x", filepath.Join(o.Dir, "new")) },
	"make a pipe":      func(o *outside) error { return syscall.Mkfifo(filepath.Join(o.Dir, "new"), 0o600) },
	"take a file away": func(o *outside) error { return os.Rename(o.secret(), "mine") },
	"put a file in its place": func(o *outside) error {
		return errors.Join(os.WriteFile("mine", []byte("forged"), 0o600), os.Rename("mine", o.secret()))
	},
	"exchange two files": func(o *outside) error {
		err := os.WriteFile("mine", []byte("forged"), 0o600)
		return errors.Join(err, unix.Renameat2(unix.AT_FDCWD, "mine", unix.AT_FDCWD, o.secret(), unix.RENAME_EXCHANGE))
	},
	"change a mode":   func(o *outside) error { return os.Chmod(o.secret(), 0o777) },
	"change an owner": func(o *outside) error { return os.Chown(o.secret(), os.Getuid(), os.Getgid()) },
	"change a time":   func(o *outside) error { return os.Chtimes(o.secret(), time.Unix(1, 0), time.Unix(1, 0)) },
	"make a device": func(*outside) error {
		if err := unix.Mknod("d", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))); err != nil {
			return err
		}
		_, err := os.ReadFile("d")
		return err
	},
	"read the passwords": func(*outside) error { _, err := os.ReadFile("/etc/shadow"); return err },
	"write to the system": func(*outside) error {
		name := "/usr/local/jobgraph-escape-" + strconv.Itoa(os.Getpid())
		return errors.Join(os.WriteFile(name, nil, 0o600), os.Remove(name))
	},
	"make a file of many gigabytes": func(*outside) error {
		signal.Ignore(unix.SIGXFSZ)
		return errors.Join(os.WriteFile("big", nil, 0o600), os.Truncate("big", 5<<30))
	},
	"climb out of a folder that moves": func(o *outside) error {
		if err := os.MkdirAll("a/b/c", 0o700); err != nil {
			return err
		}
		dir, err := os.Open("a/b/c")
		if err != nil {
			return err
		}
		if err := os.Rename("a/b", "b"); err != nil {
			return err
		}
		fd, err := unix.Openat(int(dir.Fd()), "../../../../../../../../.."+o.secret(), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return holds(io.ReadAll(os.NewFile(uintptr(fd), "secret")))
	},
	"read by an open link": func(o *outside) error {
		fd, err := unix.Open(o.secret(), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return holdsFile("/proc/self/fd/" + strconv.Itoa(fd))
	},
	"execute by an open link": func(o *outside) error {
		fd, err := unix.Open(filepath.Join(o.Dir, "script"), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		out, err := exec.Command("/proc/self/fd/" + strconv.Itoa(fd)).Output()
		return holds(out, err)
	},
	"mark a file": func(o *outside) error { return unix.Setxattr(o.secret(), "user.x", []byte("x"), 0) },
	"write to the kernel's settings": func(*outside) error {
		f, err := os.OpenFile("/proc/sys/kernel/domainname", os.O_WRONLY, 0)
		if err == nil {
			_ = f.Close()
		}
		return err
	},
	"write to the groups of processes": func(*outside) error {
		name := "/sys/fs/cgroup/jobgraph-escape-" + strconv.Itoa(os.Getpid())
		return errors.Join(os.Mkdir(name, 0o700), os.Remove(name))
	},
	"use a descriptor that the runner has inherited": func(*outside) error {
		text := make([]byte, 64)
		n, err := unix.Pread(inherited, text, 0)
		return holds(text[:max(n, 0)], err)
	},
	"write to shared memory": func(*outside) error {
		name := "/dev/shm/jobgraph-escape-" + strconv.Itoa(os.Getpid())
		return errors.Join(os.WriteFile(name, nil, 0o600), os.Remove(name))
	},
}

func holdsFile(name string) error { return holds(os.ReadFile(name)) }

func shell(script string) error {
	out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

var networkAttempts = map[string]func(*outside) error{
	"connect by TCP":              func(o *outside) error { return reaches("tcp", o.TCP) },
	"send by UDP":                 func(o *outside) error { return reaches("udp", o.UDP) },
	"connect by a path":           func(o *outside) error { return reaches("unix", o.Unix) },
	"send to a path":              func(o *outside) error { return reaches("unixgram", o.Gram) },
	"connect by an abstract name": func(o *outside) error { return reaches("unix", "@"+o.Shared) },
	"send to a path by one of a pair": func(o *outside) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: o.Gram})
	},
	"listen for others": func(*outside) error {
		l, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			return err
		}
		_ = l.Close()
		if inOwnNetwork() {
			return errors.New("only the program itself can connect")
		}
		return nil
	},
	"connect by multipath TCP": func(o *outside) error { return reachesBy(o.TCP, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) },
	"connect by fast open": func(o *outside) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, inet(o.TCP))
	},
	"connect by TCP of version 6": func(o *outside) error { return reaches("tcp", o.TCP6) },
	"send by UDP of version 6":    func(o *outside) error { return reaches("udp", o.UDP6) },
	"send by UDP without a connection": func(o *outside) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		if err := unix.Sendto(fd, []byte("x"), 0, inet(o.UDP)); err != nil {
			return err
		}
		if inOwnNetwork() {
			return errors.New("only the program itself can answer")
		}
		return nil
	},
	"send an echo request": func(*outside) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte{8, 0, 0, 0, 0, 0, 0, 0}, 0, inet("127.0.0.1:0"))
	},
	"hear of interfaces": func(*outside) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		if inOwnNetwork() {
			return errors.New("there is only its own")
		}
		return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK})
	},
	"make a raw socket": func(*outside) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		return err
	},
	"make a packet socket": func(*outside) error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err },
	"make a virtual machine's socket": func(*outside) error {
		_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		if err != nil {
			_, err = unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
		}
		return err
	},
}

// inOwnNetwork reports whether there is nothing but a loopback interface.
func inOwnNetwork() bool {
	list, err := net.Interfaces()
	return err == nil && len(list) == 1
}

func reaches(network, address string) error {
	conn, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	if network == "udp" && inOwnNetwork() {
		return errors.New("only the program itself can answer")
	}
	return conn.Close()
}

func inet(address string) *unix.SockaddrInet4 {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}
}

func reachesBy(address string, kind, protocol int) error {
	fd, err := unix.Socket(unix.AF_INET, kind, protocol)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Connect(fd, inet(address))
}

var processAttempts = map[string]func(*outside) error{
	"kill the process": func(o *outside) error { return syscall.Kill(o.Target, syscall.SIGCONT) },
	"kill its parent":  func(*outside) error { return signalParent() },
	"read the command line of the process": func(o *outside) error {
		text, err := os.ReadFile(procOf(o, "cmdline"))
		if err == nil && !strings.Contains(string(text), "sleep") {
			err = errors.New("it belongs to another process")
		}
		return err
	},
	"read the status of the process":      func(o *outside) error { return sleeps(o) },
	"read the environment of the process": func(o *outside) error { return holdsFile(procOf(o, "environ")) },
	"read the roots of the process":       func(o *outside) error { return holdsFile(procOf(o, "root") + o.secret()) },
	"trace the process": func(o *outside) error {
		return errors.Join(syscall.PtraceAttach(o.Target), syscall.PtraceDetach(o.Target))
	},
	"read memory of the process": func(o *outside) error {
		f, err := os.Open(procOf(o, "mem"))
		if err == nil {
			_ = f.Close()
		}
		return err
	},
	"take a descriptor of the process": func(o *outside) error {
		fd, err := unix.PidfdOpen(o.Target, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	},
	"limit the process": func(o *outside) error {
		var now unix.Rlimit
		if err := unix.Prlimit(o.Target, unix.RLIMIT_CORE, nil, &now); err != nil {
			return err
		}
		return unix.Prlimit(o.Target, unix.RLIMIT_CORE, &now, nil)
	},
	"slow the process down": func(o *outside) error { return unix.Setpriority(unix.PRIO_PROCESS, o.Target, 19) },
	"slow all processes of a user down": func(*outside) error {
		if inOwnNetwork() {
			return errors.New("there are only its own")
		}
		return number(errnoOf(unix.Setpriority(unix.PRIO_USER, nobodys, 19)), unix.ESRCH)
	},
	"move the process to other processors": func(o *outside) error {
		var now unix.CPUSet
		if err := unix.SchedGetaffinity(o.Target, &now); err != nil {
			return err
		}
		return unix.SchedSetaffinity(o.Target, &now)
	},
	"schedule the process": func(o *outside) error {
		return unix.SchedSetAttr(o.Target, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	},
	"schedule input and output of the process": func(o *outside) error {
		const ofProcess, idle = 1, 3 << 13
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, ofProcess, uintptr(o.Target), idle)
		return number(errno, 0)
	},
	"move memory of the process": func(o *outside) error {
		_, _, errno := unix.Syscall6(unix.SYS_MOVE_PAGES, uintptr(o.Target), 0, 0, 0, 0, 0)
		return number(errno, 0)
	},
	"signal the process by a file": func(o *outside) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		for _, one := range [][2]int{{unix.F_SETOWN, o.Target}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}} {
			if _, err := unix.FcntlInt(r.Fd(), one[0], one[1]); err != nil {
				return err
			}
		}
		seen := alive(o.Target)
		if _, err := w.WriteString("x"); err != nil {
			return err
		}
		for range 100 {
			if seen && !alive(o.Target) {
				return nil
			}
			<-time.After(time.Millisecond)
		}
		return errors.New("it is alive, as far as can be seen")
	},
	"attach shared memory": func(o *outside) error {
		id, _ := strconv.Atoi(o.Segment)
		_, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		return err
	},
}

func procOf(o *outside, name string) string { return "/proc/" + strconv.Itoa(o.Target) + "/" + name }

func sleeps(o *outside) error {
	text, err := os.ReadFile(procOf(o, "status"))
	if err == nil && !strings.Contains(string(text), "sleep") {
		err = errors.New("it belongs to another process")
	}
	return err
}

// signalParent sends a harmless signal to the parent, which is outside unless it is the init process of a namespace.
func signalParent() error {
	if os.Getppid() <= 1 {
		return errors.New("the parent is the program's own init process")
	}
	return syscall.Kill(os.Getppid(), syscall.SIGCONT)
}

var kernelAttempts = map[string]func(*outside) error{
	"mount a file system": func(*outside) error {
		return errors.Join(unix.Mount("none", ".", "tmpfs", 0, ""), unix.Unmount(".", unix.MNT_DETACH))
	},
	"make a namespace of users": func(*outside) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"join a namespace": func(*outside) error {
		f, err := os.Open("/proc/1/ns/net")
		if err != nil {
			return err
		}
		return unix.Setns(int(f.Fd()), 0)
	},
	"change the root": func(*outside) error { return unix.Chroot(".") },
	"open a file by its handle": func(o *outside) error {
		handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, o.secret(), 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
		return err
	},
	"load a program into the kernel": func(*outside) error {
		_, _, errno := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
		return number(errno, unix.EINVAL)
	},
	"use the ring of system calls": func(*outside) error {
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		if errno == 0 {
			_ = unix.Close(int(fd))
		}
		return number(errno, 0)
	},
	"read the kernel's log": func(*outside) error { _, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil); return err },
	"use the user's keys":   func(*outside) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
	"take more memory": func(*outside) error {
		data, err := unix.Mmap(-1, 0, 2<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err == nil {
			_ = unix.Munmap(data)
		}
		return err
	},
	"gain rights by a program": func(*outside) error {
		if flag, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || flag == 1 {
			return fmt.Errorf("no new privileges: %d, %w", flag, errors.Join(err, errors.New("kept")))
		}
		return nil
	},
}

// nobodys is the id of a user without processes.
const nobodys = 4_242_424

func errnoOf(err error) (errno syscall.Errno) {
	_ = errors.As(err, &errno) // 0 if there is none.
	return errno
}

// number returns nil for an error which shows that the kernel has looked at the call.
func number(errno, reached syscall.Errno) error {
	if errno == reached {
		return nil
	}
	return errno
}

// alive reports whether a process runs.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// sharedSegment makes a segment of shared memory outside.
func sharedSegment(t *testing.T) string {
	t.Helper()
	id := musttest.Get(unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600))(t)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return strconv.Itoa(id)
}
