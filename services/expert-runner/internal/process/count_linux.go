package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ownID is the number of this process in /proc, which may show another namespace than its own.
func ownID() int {
	name, err := os.Readlink("/proc/self")
	if err != nil {
		return os.Getpid()
	}
	pid, err := strconv.Atoi(name)
	if err != nil {
		return os.Getpid()
	}
	return pid
}

// task is what /proc says about a process: its parent, how many threads it has, and whether none of them runs.
type task struct {
	parent  int
	threads int64
	asleep  bool
}

// CountTasks counts the processes and threads below this process, and how many of them may be running. If nothing is started
// meanwhile, it misses none that lives on, even if parents end and their children get others. The error says that processes are not
// visible.
func CountTasks() (n, busy int64, err error) {
	names, err := readNames("/proc")
	if err != nil {
		return 0, 0, fmt.Errorf("count processes: %w", err)
	}
	own := ownID()
	all := map[int]task{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if t, ok := taskOf(pid); ok {
				all[pid] = t
			}
		}
	}
	if _, ok := all[own]; !ok {
		return 0, 0, fmt.Errorf("count processes: %d is not in /proc", own)
	}
	for pid, t := range all {
		if !isBelow(pid, own, all) {
			continue
		}
		n += t.threads // One of a process that nothing has waited for.
		if !t.asleep {
			busy += t.threads
		}
	}
	return n, busy, nil
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// mostChanges bounds how often a chain of parents is read again because one of them has ended.
const mostChanges = 10

// isBelow reports whether a process is below another one. If the parents change too often to tell, it is.
func isBelow(pid, top int, all map[int]task) bool {
	lookup := func(pid int) (task, bool) { t, ok := all[pid]; return t, ok }
	for range mostChanges {
		id := pid
		for range len(all) + 1 {
			t, ok := lookup(id)
			switch {
			case !ok && id == pid:
				return false // The process has ended.
			case ok && t.parent == top:
				return true
			case ok && t.parent == 0:
				return false
			case ok:
				id = t.parent
				continue
			}
			break
		}
		lookup = taskOf // What was read before may be outdated.
	}
	return true
}

// taskOf reads one process; false if it has ended.
func taskOf(pid int) (task, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return task{}, false
	}
	// The name, in parentheses, may contain anything. The fields behind it are counted from 0; in proc(5) they are 3, 4 and 20.
	const state, ppid, threadCount = 0, 1, 17
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= threadCount {
		return task{}, false
	}
	parent, _ := strconv.Atoi(fields[ppid])
	threads, _ := strconv.ParseInt(fields[threadCount], 10, 64) // The kernel writes numbers.
	// The state is that of the first thread.
	return task{parent: parent, threads: threads, asleep: threads <= 1 && fields[state] != "R"}, true
}
