package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// view gives the program a separate view of the file system: everything is read-only except what it may write, and /proc shows only
// its own processes. It changes only the mount namespace of this process. What the kernel refuses is left to Landlock and the
// filter of system calls, and recorded in the order.
func view(o *order) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	o.Fixed = readOnly(o.Write) == nil
	if err := os.Chdir(here); err != nil { // The folder is in another mount now.
		return fmt.Errorf("return to the current folder: %w", err)
	}
	o.Proc = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil
	if o.Proc {
		o.Counted = boundProcesses(o.Limits.Processes) == nil
	}
	return nil
}

// readOnly makes every mount read-only, and each writable path a separate writable mount.
func readOnly(writable []string) error {
	var own []string
	for _, path := range writable {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Mode()&fs.ModeDevice != 0:
			continue // Devices can be written in a read-only mount.
		case err != nil:
			return fmt.Errorf("find %s: %w", path, err)
		}
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
		own = append(own, path)
	}
	set := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &set); err != nil {
		return fmt.Errorf("make the mounts read-only: %w", err)
	}
	clear := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for _, path := range slices.Sorted(slices.Values(own)) {
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &clear); err != nil {
			return fmt.Errorf("make %s writable: %w", path, err)
		}
	}
	return nil
}

// leastProcesses is the smallest bound that the kernel accepts for a namespace, plus what the helper itself needs.
const leastProcesses = 310

// boundProcesses bounds the processes and threads of this namespace, even for root. It needs Linux 6.14.
func boundProcesses(most int64) error {
	if most <= 0 {
		return nil
	}
	return os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.FormatInt(max(most, leastProcesses), 10)), 0)
}

// loopback brings up the only interface of the network namespace, so that a program can talk to itself.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("name the interface: %w", err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring up the interface: %w", err)
	}
	return nil
}
