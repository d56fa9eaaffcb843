package sandbox

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// bounds limits all processes of a program together where the kernel does not; 0 is no limit.
type bounds struct {
	// processes is the maximum number of processes and threads, where neither the kernel nor a gate bounds them.
	processes int64
	// memory is the maximum in RAM, in bytes.
	memory int64
	gate   *gate    // nil if there is none.
	kill   func()   // Kills all processes of the program.
	words  *os.File // A copy of the program's standard error, which this process does not use itself.
	done   chan struct{}
}

// How often processes are counted, and how often their memory, which costs more.
const (
	countAgain = 10 * time.Millisecond
	weighEvery = 10
)

// newBounds is called while descriptor 2 is still that of the program.
func newBounds(l Limits, kill func()) (*bounds, error) {
	words, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("watch the program: %w", err)
	}
	return &bounds{memory: l.Total, kill: kill, words: os.NewFile(uintptr(words), "words"), done: make(chan struct{})}, nil
}

// hold watches the processes below this one, from goroutines that end with this process. A program that exceeds a bound is ended,
// and its standard error says why.
func (b *bounds) hold() {
	if b.gate != nil {
		go b.gate.serve()
	}
	if b.processes > 0 || b.memory > 0 {
		go b.watch()
	}
}

// over ends the watch. Where there is a gate, processes that the program has left behind can start nothing from now on.
func (b *bounds) over() {
	b.shut()
	close(b.done)
}

func (b *bounds) shut() {
	if b.gate != nil {
		b.gate.shut.Store(true)
	}
}

func (b *bounds) watch() {
	tick := time.NewTicker(countAgain)
	defer tick.Stop()
	why := ""
	for n := 0; ; n++ {
		select {
		case <-b.done:
			return
		case <-tick.C:
		}
		if why == "" {
			if why = b.broken(n%weighEvery == 0); why != "" {
				_, _ = fmt.Fprintf(b.words, "the program was ended: %s\n", why)
			}
		}
		if why != "" {
			b.shut()
			b.kill()
		}
	}
}

// broken says which bound the program has exceeded; "" for none.
func (b *bounds) broken(weigh bool) string {
	if b.processes > 0 {
		if n, _, err := process.CountTasks(); err == nil && n > b.processes {
			return fmt.Sprintf("it had more than %d processes", b.processes)
		}
	}
	if b.memory > 0 && weigh && process.DescendantsHold(b.memory) {
		return fmt.Sprintf("its processes had more than %d bytes of memory together", b.memory)
	}
	return ""
}

// killNamespace kills all processes of the namespace except this one, its init process.
func killNamespace() {
	if os.Getpid() == 1 { // In any other process the call would reach the whole machine.
		_ = unix.Kill(-1, unix.SIGKILL) // There may be none.
	}
}
