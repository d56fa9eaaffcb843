package host

import (
	"os"
	"strconv"
	"strings"
)

// Capacity returns how much memory this process may use, in bytes: the limit of its control group (Linux, version 2) or the
// machine's memory, whichever is less; 0 if neither is known.
func Capacity() uint64 {
	limit := number(read("/sys/fs/cgroup/memory.max"))
	_, rest, _ := strings.Cut(read("/proc/meminfo"), "MemTotal:")
	total, _, _ := strings.Cut(rest, "kB")
	machine := number(total) << 10
	if limit == 0 || machine > 0 && machine < limit {
		return machine
	}
	return limit
}

// read returns the contents of a small system file, or "".
func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// number parses a number; 0 for anything else.
func number(text string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
