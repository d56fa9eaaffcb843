package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// self identifies this process uniquely on this machine: its pid namespace, its pid, and its start time.
func self() string {
	return identity(os.Getpid())
}

// identity identifies a process, or returns "" if it does not exist.
func identity(pid int) string {
	space, err := os.Readlink("/proc/self/ns/pid")
	stat, statErr := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || statErr != nil {
		return ""
	}
	// The name, in parentheses, may contain anything; the start time is the 20th field after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return strings.Trim(space, "pid:[]") + "-" + strconv.Itoa(pid) + "-" + fields[19]
}

// Sweep cleans a folder of workspaces after killed runners: it ends processes that outlived their program and removes
// directories. It leaves those of live runners and of other pid namespaces alone. It returns what it removed.
func Sweep(parent string) (removed []string, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	dirs, err := filepath.Glob(filepath.Join(parent, prefix+"*-*-*-*"))
	if err != nil {
		return nil, fmt.Errorf("sweep workspaces: %w", err)
	}
	space, _, _ := strings.Cut(self(), "-")
	var errs []error
	for _, dir := range dirs {
		parts := strings.Split(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, bad := strconv.Atoi(parts[1])
		if bad != nil || parts[0] != space || identity(pid) == strings.Join(parts[:3], "-") {
			continue
		}
		if path, err := filepath.Abs(dir); err == nil {
			process.KillMarked(process.Mark + path)
		}
		if err := Discard(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, dir)
	}
	return removed, errors.Join(errs...)
}
