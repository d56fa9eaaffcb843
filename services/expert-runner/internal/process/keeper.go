package process

import (
	"errors"
	"os/exec"
	"sync"
	"time"
)

// DefaultOrphanAfter is how long a program continues without a sign of life from its runner.
const DefaultOrphanAfter = 5 * time.Minute

// beats is how many renewals per period a program without a claim gets, although one would suffice.
const beats = 4

// Keeper starts programs that end when the runner dies, or when they are not renewed in time. It starts the keeper process with the
// first program, and again if it has died. It may be used by any number of goroutines; a nil Keeper starts programs without a
// keeper process.
type Keeper struct {
	helper Helper
	after  time.Duration

	mu     sync.Mutex // Guards the fields below.
	line   *line      // The connection to the process; nil before the first program.
	closed bool
}

// Moment is a time of the machine's monotonic clock, in nanoseconds. It is the same for all processes, and continues while they
// are suspended and while the machine sleeps.
type Moment int64

// After returns the time d later.
func (m Moment) After(d time.Duration) Moment { return m + Moment(d) }

// NewKeeper makes a keeper. A program is ended if it is not renewed for this long, DefaultOrphanAfter if 0. If there can be no
// keeper process (no Helper, or not Linux), programs are started without one.
func NewKeeper(h Helper, after time.Duration) *Keeper {
	if after == 0 {
		after = DefaultOrphanAfter
	}
	return &Keeper{helper: h, after: after}
}

// errClosed is the error of a start after Close.
var errClosed = errors.New("start program: the runner ends")

// ErrLate means that a program was not started because its time had passed.
var ErrLate = errors.New("start program: the order came too late")

// Start runs the program in a new process group. It must be renewed.
func (k *Keeper) Start(cmd *exec.Cmd) (*Group, error) { return k.StartUntil(cmd, 0) }

// StartUntil is Start, but returns ErrLate if the time has passed; then the program may be started again. A time of 0 never passes.
func (k *Keeper) StartUntil(cmd *exec.Cmd, until Moment) (*Group, error) {
	if k == nil || !k.helper.hooked || !supported {
		return Start(cmd)
	}
	l, err := k.open()
	if err != nil {
		return nil, err
	}
	return l.start(cmd, until)
}

// Keep starts the program like Start, and renews it as long as the runner runs.
func (k *Keeper) Keep(cmd *exec.Cmd) (*Group, error) {
	g, err := k.Start(cmd)
	if err != nil || k == nil {
		return g, err
	}
	go g.beat(k.after / beats) // Ends with the program.
	return g, nil
}

func (g *Group) beat(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-g.exited:
			return
		case <-tick.C:
			g.Renew()
		}
	}
}

// open returns the connection to the process, which it starts if necessary.
func (k *Keeper) open() (*line, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	if k.line == nil || k.line.broken() {
		l, err := dial(k.after)
		if err != nil {
			return nil, err
		}
		k.line = l
	}
	return k.line, nil
}

// Close ends the process with all its programs, and waits for the end.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	l := k.line
	k.closed = true
	k.mu.Unlock()
	if l != nil {
		l.close()
	}
}
