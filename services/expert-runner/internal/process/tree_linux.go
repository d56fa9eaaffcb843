package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// During exec a process has no environment for a moment, so it is checked more than once.
const (
	looks     = 3
	mostLooks = 50 // A process that waits for a device does not die at once.
	lookAgain = 20 * time.Millisecond
)

// KillMarked kills every process whose environment has one of these entries, including those that are started meanwhile.
func KillMarked(marks ...string) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	clean := 0
	for all := 0; clean < looks && all < mostLooks; all++ {
		clean++
		if killOnce(marks) {
			clean = 0
		}
		<-tick.C
	}
}

func killOnce(marks []string) (found bool) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // The pattern is well-formed.
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !slices.ContainsFunc(marks, func(mark string) bool { return marked(pid, mark) }) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil { // A process that is gone, or belongs to another user, is not checked again.
			found = true
		}
	}
	return found
}

// marked reports whether the environment of a process has an entry; false if it is unreadable.
func marked(pid int, mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && mark != "" && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00"))
}

// descendants returns all processes below one, from the lists of children of its threads.
func descendants(pid int) []int {
	var all []int
	for _, child := range children(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// adopted returns the processes that were reparented to this one, and those that its first thread has started.
func adopted() []int {
	pid := strconv.Itoa(os.Getpid())
	text, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		return childrenByParent(os.Getpid())
	}
	return numbers(text)
}

// children returns the children of a process. On a kernel without these lists it checks all processes.
func children(pid int) []int {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children") // The pattern is well-formed.
	if len(lists) == 0 {
		return childrenByParent(pid)
	}
	var all []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // The thread may have ended.
		all = append(all, numbers(text)...)
	}
	return all
}

func numbers(text []byte) (all []int) {
	for _, field := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func childrenByParent(pid int) []int {
	var all []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // The pattern is well-formed.
	for _, file := range files {
		stat, _ := os.ReadFile(file) // It may have ended.
		// The name, in parentheses, may contain anything; the parent is the second field after it.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// KillDescendants kills the processes below this one without reaping them. Its namespace is that of /proc.
func KillDescendants() {
	for _, pid := range descendants(os.Getpid()) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended.
	}
}

// EndDescendants kills every process below this one and reaps those that become its children, until none is left or the time is up.
// The caller is a child subreaper, and reaps nothing meanwhile.
func EndDescendants(within time.Duration) {
	tick := time.NewTicker(killAgain) // A kill takes effect a moment later.
	defer tick.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-tick.C {
		KillDescendants()
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
}
