package process

import (
	"errors"
	"os/exec"
	"sync"
	"time"
)

// DefaultOrphanAfter is how long a program goes on of which its runner gives no sign of life.
const DefaultOrphanAfter = 5 * time.Minute

// beats is how many signs of life a program without a claim gets while one would do.
const beats = 4

// Keeper starts programs that end when the runner dies, and when they are not renewed in time. It starts its process with the first
// program, and another one when that has died. It may be used by any number of goroutines; nil starts programs without a keeper.
type Keeper struct {
	helper Helper
	after  time.Duration

	mu     sync.Mutex // Guards the fields below.
	line   *line      // To the process; nil before the first program.
	closed bool
}

// Moment is a point in the time of this machine, in nanoseconds. All processes have the same, and it goes on while they stand still
// and while the machine sleeps.
type Moment int64

// After is the moment so much later.
func (m Moment) After(d time.Duration) Moment { return m + Moment(d) }

// NewKeeper makes a keeper. A program that is not renewed is ended after so long, DefaultOrphanAfter when 0. Where there can be no
// process, since the helper was not hooked or the system is not Linux, programs are started without.
func NewKeeper(h Helper, after time.Duration) *Keeper {
	if after == 0 {
		after = DefaultOrphanAfter
	}
	return &Keeper{helper: h, after: after}
}

// errClosed is what a start behind Close gives.
var errClosed = errors.New("start program: the runner ends")

// ErrLate means that a program was not started, since the moment had passed until which that was in order.
var ErrLate = errors.New("start program: the order came too late")

// Start runs the program in a group of its own. It has to be renewed.
func (k *Keeper) Start(cmd *exec.Cmd) (*Group, error) { return k.StartUntil(cmd, 0) }

// StartUntil is Start, or ErrLate when the moment until which that is in order has passed; then the program may be started again. A
// moment of 0 never passes.
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

// Keep runs the program like Start, and renews it for as long as the runner runs.
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

// open gives the line to the process, which is started when there is none.
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

// Close ends the process with every program that it still has, and waits until it has ended.
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
