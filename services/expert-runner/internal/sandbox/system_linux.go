package sandbox

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// supported says whether this system has any level besides none.
const supported = true

// systemRead returns the system paths that programs may read and execute, without the secret parts of /etc.
func systemRead() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/ld-musl-x86_64.path",
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/run/systemd/resolve",
		"/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/os-release",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/fonts",
		"/etc/inputrc", "/etc/terminfo", "/etc/python3", "/etc/java", "/etc/perl", "/etc/gitconfig", "/etc/magic", "/etc/papersize",
		"/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm",
	}
}

// procOf returns the parts of /proc that a program may read: all of its own, or else only what says nothing about other processes
// except its first one.
func procOf(own bool) []string {
	if own {
		return []string{"/proc"}
	}
	return []string{
		"/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/version", "/proc/filesystems",
		"/proc/cgroups", "/proc/devices", "/proc/vmstat", "/proc/zoneinfo", "/proc/sys",
	}
}

// systemWrite returns the devices that store nothing.
func systemWrite() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}

// Pair is a connection to a program at level namespaces: our end, and the file that it gets.
func Pair() (net.Conn, *os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "line"), os.NewFile(uintptr(ends[1]), "line")
	conn, err := net.FileConn(ours)
	_ = ours.Close() // The connection has a copy.
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return conn, theirs, nil
}

// isolate requests separate namespaces. The user stays the same, without rights over the machine; the helper has those over
// its own namespaces until it gives them up.
func isolate(attr *syscall.SysProcAttr, level Level, network bool) {
	if level != Namespaces {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNS
	if !network {
		attr.Cloneflags |= syscall.CLONE_NEWNET
	}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	uid, gid := os.Geteuid(), os.Getegid()
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
}
