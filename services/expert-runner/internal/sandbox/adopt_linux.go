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
	most := bounds{memory: o.Limits.Total}
	if os.Geteuid() == 0 {
		most.processes = o.Limits.Processes
	}
	over, err := most.hold()
	if err != nil {
		return err
	}
	err = watch(s, 0, func() (int, error) { return startHelper(path, argv, env, &o) })
	over()
	process.EndDescendants(lastKills)
	return err
}

// startHelper starts a second helper and waits until it has become the program, or has failed to.
func startHelper(path string, argv, env []string, o *order) (pid int, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return 0, fmt.Errorf("instruct the helper: %w", err)
	}
	orders, told, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("instruct the helper: %w", err)
	}
	defer func() { _ = orders.Close() }()
	_, err = told.Write(body) // It fits the pipe, as the first order did.
	if err = errors.Join(err, told.Close()); err != nil {
		return 0, fmt.Errorf("instruct the helper: %w", err)
	}
	says, child, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("instruct the helper: %w", err)
	}
	defer func() { _ = says.Close() }()
	args := append([]string{"jobgraph-sandbox", argument, path}, argv...)
	pid, err = syscall.ForkExec(self, args, &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2, orders.Fd(), child.Fd()}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	_ = child.Close()
	if err != nil {
		return 0, fmt.Errorf("start the helper: %w", err)
	}
	words, err := io.ReadAll(says) // Ends when the helper becomes the program, which inherits none of our descriptors.
	if err != nil || len(words) == 0 {
		return pid, err
	}
	var failed said
	if err := json.Unmarshal(words, &failed); err != nil {
		return 0, fmt.Errorf("hear the helper: %w", err)
	}
	return 0, errors.New(failed.Fault)
}
