package bench

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is the resources that a process has used since its start, or the sum over several processes.
type usage struct {
	// CPU is processor time, of user and system, in seconds.
	CPU float64 `json:"cpu"`
	// Peak is the most memory that was resident at once, in bytes.
	Peak int64 `json:"peak"`
	// Resident is the present resident memory, in bytes; 0 if unknown.
	Resident int64 `json:"resident"`
}

func (u usage) plus(v usage) usage {
	return usage{u.CPU + v.CPU, u.Peak + v.Peak, u.Resident + v.Resident}
}

// ownUsage returns the usage of this process.
func ownUsage() usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}
	}
	cpu := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	peak, resident := r.Maxrss<<10, int64(0)
	// The rusage of a fresh process includes its parent's size; the high water mark does not.
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if mark, ok := memory(string(status), "VmHWM:"); ok {
			peak = mark
		}
		resident, _ = memory(string(status), "VmRSS:")
	}
	return usage{cpu.Seconds(), peak, resident}
}

// memory finds a size in the text of /proc/<pid>/status, such as the peak of the resident set.
func memory(status, name string) (int64, bool) {
	_, rest, found := strings.Cut(status, name)
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10, err == nil
}

// diskUse sums the sizes of all files in a folder. Files that disappear while it runs do not count.
func diskUse(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // Unreadable files do not count.
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
