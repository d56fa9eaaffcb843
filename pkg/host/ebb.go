package host

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietLook is how often a process looks whether it has become quiet.
	quietLook = 10 * time.Second
	// quietBytes is what a quiet process may allocate between two looks.
	quietBytes = 8 << 20
	// ebbBytes is what a process has allocated at least since it gave memory back, for the collection to be worth its time.
	ebbBytes = 64 << 20
	// ebbAgain is how often a process that stays quiet gives memory back again: what is cached for some seconds goes with the second
	// time, and stacks shrink by half with each.
	ebbAgain = 2
)

// GiveBack returns memory to the system whenever the process is quiet after it was busy, until ctx ends. Go's own collector
// begins once the heap has grown by a share of what was live, which a quiet process does not reach for a long time: what a burst
// has left behind would stay.
func GiveBack(ctx context.Context) {
	tick := time.NewTicker(quietLook)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var tide ebb
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if tide.out(sample[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}

// ebb knows what a process had allocated, all in all, when it was last looked at and when it last gave memory back after it was busy, and
// how often it is to do so again.
type ebb struct {
	last, given uint64
	again       int
}

// out says whether the process has become quiet after it was busy.
func (e *ebb) out(allocated uint64) bool {
	quiet := allocated-e.last <= quietBytes
	e.last = allocated
	switch {
	case !quiet:
		return false
	case allocated-e.given >= ebbBytes:
		e.given, e.again = allocated, ebbAgain
		return true
	case e.again > 0:
		e.again--
		return true
	}
	return false
}
