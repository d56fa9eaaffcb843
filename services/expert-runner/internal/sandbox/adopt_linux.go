package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// lastKills bounds the hunt for processes that the program left behind.
const lastKills = 5 * time.Second

// adopt runs the program below a second helper, and ends what the program leaves behind, even in separate sessions and without its
// environment. This process stays unrestricted, so that the program cannot signal or trace it.
func adopt(path string, argv, env []string, o order, s *said) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt processes: %w", err)
	}
	o.Reap = false
	b, err := newBounds(o.Limits, process.KillDescendants)
	if err != nil {
		return err
	}
	counted := !o.needsGate()
	o.Gate = !counted && o.Newest == 0 // An old machine has no gates.
	err = watch(s, 0, func() (pid int, err error) {
		pid, b.gate, err = startHelper(path, argv, env, &o)
		if !counted && b.gate == nil {
			b.processes = o.Limits.Processes
		}
		b.hold()
		return pid, err
	})
	b.over()
	process.EndDescendants(lastKills)
	return err
}

// startHelper starts a second helper and waits until it has become the program, or has failed to. The gate is nil if there is none.
func startHelper(path string, argv, env []string, o *order) (pid int, g *gate, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return 0, nil, fmt.Errorf("instruct the helper: %w", err)
	}
	orders, told, err := os.Pipe()
	if err != nil {
		return 0, nil, fmt.Errorf("instruct the helper: %w", err)
	}
	defer func() { _ = orders.Close() }()
	_, err = told.Write(body) // It fits the pipe, as the first order did.
	if err = errors.Join(err, told.Close()); err != nil {
		return 0, nil, fmt.Errorf("instruct the helper: %w", err)
	}
	says, child, err := os.Pipe()
	if err != nil {
		return 0, nil, fmt.Errorf("instruct the helper: %w", err)
	}
	defer func() { _ = says.Close() }()
	gates, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		_ = child.Close()
		return 0, nil, fmt.Errorf("instruct the helper: %w", err)
	}
	defer func() { _ = unix.Close(gates[0]) }()
	args := append([]string{"jobgraph-sandbox", argument, path}, argv...)
	pid, err = syscall.ForkExec(process.Self(), args, &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2, orders.Fd(), child.Fd(), uintptr(gates[1])}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	_, _ = child.Close(), unix.Close(gates[1])
	if err != nil {
		return 0, nil, fmt.Errorf("start the helper: %w", err)
	}
	g, err = receiveGate(gates[0], o.Limits.Processes)
	if err != nil {
		return 0, nil, err
	}
	return pid, g, heard(says)
}

// heard waits until a helper has become the program, and returns the helper's fault.
func heard(says io.Reader) error {
	words, err := io.ReadAll(says) // Ends when the helper becomes the program, which inherits none of our descriptors.
	if err != nil || len(words) == 0 {
		return err
	}
	var failed said
	if err := json.Unmarshal(words, &failed); err != nil {
		return fmt.Errorf("hear the helper: %w", err)
	}
	return errors.New(failed.Fault)
}
