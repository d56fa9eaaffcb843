package host

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietLook is the time between two checks whether the process is quiet.
	quietLook = 10 * time.Second
	// quietBytes is the most that a quiet process allocates between two checks.
	quietBytes = 8 << 20
	// ebbBytes is how much the process must allocate after releasing memory to make another release worthwhile.
	ebbBytes = 64 << 20
	// ebbAgain is how often a process that stays quiet releases memory again: the second collection frees caches that last some
	// seconds, and stacks shrink by half each time.
	ebbAgain = 2
)

// GiveBack releases memory to the system whenever the process becomes quiet after activity, until ctx ends. Go's own collector
// starts once the heap has grown by a fraction of the live heap. In a quiet process that takes long, and the memory of a burst
// would stay allocated.
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
			release()
		}
	}
}

// release frees what is unused and releases it to the system. A sync.Pool gives up its content only at the second collection after
// its last use; the server's buffers are in such pools.
func release() {
	runtime.GC()
	debug.FreeOSMemory()
}

// ebb holds the total allocation at the last check and at the last release, and how many releases are still to follow.
type ebb struct {
	last, given uint64
	again       int
}

// out reports whether to release memory, given the total allocation.
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
