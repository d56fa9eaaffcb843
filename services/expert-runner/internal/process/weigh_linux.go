package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// DescendantsHold reports whether the processes below this one have more than this many bytes in RAM together. Pages that they
// share count once: exact sums cost more, and are computed only if the sum of all resident pages is above the limit.
func DescendantsHold(most int64) bool {
	all := descendants(ownID())
	total := int64(0)
	for _, pid := range all {
		total += resident(pid)
	}
	if total <= most {
		return false
	}
	total = 0
	for _, pid := range all {
		total += share(pid)
	}
	return total > most
}

// resident is the memory of a process in RAM, in bytes; 0 if it has ended.
func resident(pid int) int64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // The kernel writes numbers.
	return pages * int64(os.Getpagesize())
}

// share returns the process's share of resident memory, in which a page of n processes counts as one n-th; all of it if the kernel
// does not tell.
func share(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) >= 2 && string(fields[0]) == "Pss:" {
			kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return kilobytes << 10
		}
	}
	if err == nil {
		return 0 // It has ended, or has no memory of its own.
	}
	return resident(pid)
}
