package sandbox

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// bounds limits all processes of a program together, which the kernel does not do; 0 is no limit.
type bounds struct {
	// processes is the maximum number, for root, whom the kernel's limit does not bind.
	processes int64
	// memory is the maximum in RAM, in bytes.
	memory int64
}

// How often processes are counted, and how often their memory, which costs more.
const (
	countAgain = 10 * time.Millisecond
	weighEvery = 10
)

// hold watches the processes below this one, from a goroutine that ends with over, or with this process. A program that exceeds a
// bound is ended, and its standard error says why.
func (b bounds) hold() (over func(), err error) {
	if b == (bounds{}) {
		return func() {}, nil
	}
	words, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3) // A copy of the program's descriptor 2, which this process does not use itself.
	if err != nil {
		return nil, fmt.Errorf("watch the program: %w", err)
	}
	done := make(chan struct{})
	go b.watch(os.NewFile(uintptr(words), "words"), done)
	return func() { close(done) }, nil
}

func (b bounds) watch(words *os.File, done <-chan struct{}) {
	tick := time.NewTicker(countAgain)
	defer tick.Stop()
	why := ""
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if why == "" {
			if why = b.broken(n%weighEvery == 0); why != "" {
				_, _ = fmt.Fprintf(words, "the program was ended: %s\n", why)
			}
		}
		if why != "" {
			process.KillDescendants()
		}
	}
}

// broken says which bound the program has exceeded; "" for none.
func (b bounds) broken(weigh bool) string {
	if b.processes > 0 && int64(process.CountDescendants()) > b.processes {
		return fmt.Sprintf("it had more than %d processes", b.processes)
	}
	if b.memory > 0 && weigh && process.DescendantsHold(b.memory) {
		return fmt.Sprintf("its processes had more than %d bytes of memory together", b.memory)
	}
	return ""
}
