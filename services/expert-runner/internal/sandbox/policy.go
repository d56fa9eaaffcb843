package sandbox

import (
	"fmt"
	"math"
	"time"
)

// Policy is what one program may do.
type Policy struct {
	// Network permits network access; off by default.
	Network bool
	// Unix permits sockets of the file system, such as those of daemons; off by default, also with Network.
	Unix bool
	// Untrusted is for programs that a model chose: where the level does not separate them, they read nothing of /proc about
	// other processes, and change no mode, owner, time or attribute of a file by its name.
	Untrusted bool
	// Read are absolute paths that it may read and execute, with everything below them, in addition to the system's own.
	Read []string
	// Write are absolute paths that it may read, execute and write, with everything below them.
	Write []string
	// Limits bound its use of the machine.
	Limits Limits
}

// Limits bound the use of the machine; 0 means no limit unless a default is named. They apply to each process separately, unless
// noted.
type Limits struct {
	// CPU is processor time, rounded up to seconds.
	CPU time.Duration `yaml:"cpu"`
	// Memory is the maximum size of data in bytes: stacks, heaps and private mappings.
	Memory int64 `yaml:"memory"`
	// Files is how many files may be open; 0 means 4096.
	Files int64 `yaml:"files"`
	// FileSize is how large a file may become, in bytes; 0 means 4 GiB.
	FileSize int64 `yaml:"file_size"`
	// Processes is the maximum number of processes and threads: those of the program at level namespaces, or if it runs as root,
	// otherwise all of its user. It needs a sandbox.
	Processes int64 `yaml:"processes"`
	// Total is the memory of all processes of the program together, in bytes: what they have in RAM, shared pages counted once; checked
	// at intervals. It needs a sandbox.
	Total int64 `yaml:"total"`
	// Workspace is the maximum total size of the files in its workspace, in bytes; checked at intervals, and at the end.
	Workspace int64 `yaml:"workspace"`
}

// Defaults of Limits.
const (
	// DefaultFiles is how many files may be open.
	DefaultFiles = 4096
	// DefaultFileSize is how large a file may become, in bytes.
	DefaultFileSize = 4 << 30
)

// leastMemory is the minimum with which a program can start, in bytes.
const leastMemory = 64 << 20

// Filled returns the limits with the defaults in place of zeros.
func (l Limits) Filled() Limits {
	if l.Files == 0 {
		l.Files = DefaultFiles
	}
	if l.FileSize == 0 {
		l.FileSize = DefaultFileSize
	}
	return l
}

// Faults returns what is wrong, by key.
func (l Limits) Faults() map[string]error {
	faults := map[string]error{}
	for key, value := range map[string]int64{
		"cpu": int64(l.CPU), "memory": l.Memory, "files": l.Files, "file_size": l.FileSize, "processes": l.Processes, "total": l.Total, "workspace": l.Workspace,
	} {
		if value < 0 {
			faults[key] = fmt.Errorf("must not be negative")
		}
	}
	if l.Memory > 0 && l.Memory < leastMemory {
		faults["memory"] = fmt.Errorf("%d bytes are too few for any program: at least %d", l.Memory, leastMemory)
	}
	if l.Total > 0 && l.Total < leastMemory {
		faults["total"] = fmt.Errorf("%d bytes are too few for any program: at least %d", l.Total, leastMemory)
	}
	return faults
}

// seconds is the CPU limit in the kernel's unit.
func (l Limits) seconds() uint64 { return uint64(math.Ceil(l.CPU.Seconds())) }
