package host

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestTheHeapMayGrowTheLessTheMoreIsLive(t *testing.T) {
	for _, c := range []struct {
		live    uint64
		percent int
	}{{0, 400}, {10 << 20, 400}, {24 << 20, 400}, {48 << 20, 200}, {96 << 20, 100}, {1 << 40, 60}} {
		if got := growth(c.live); got != c.percent {
			t.Errorf("%d bytes live: %d percent, want %d", c.live, got, c.percent)
		}
	}
}

func TestTheLimitOfMemoryLeavesRoomForWhatIsLive(t *testing.T) {
	for live, want := range map[uint64]int64{0: softLimit, softLimit / 4: softLimit, softLimit: 3 * softLimit, 1 << 63: 3 << 60} {
		if got := limit(live); got != want {
			t.Errorf("%d bytes live: limit %d, want %d", live, got, want)
		}
	}
}

func TestTheLimitFollowsWhatIsLiveCollectionByCollection(t *testing.T) {
	before, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetMemoryLimit(before); debug.SetGCPercent(percent) })
	TuneMemory(nil)
	ballast := make([]byte, softLimit)
	for range 1000 {
		if runtime.GC(); debug.SetMemoryLimit(-1) >= limitOverLive*softLimit {
			runtime.KeepAlive(ballast)
			return
		}
		runtime.Gosched()
	}
	t.Errorf("after 1,000 collections with %d bytes live the limit is %d", len(ballast), debug.SetMemoryLimit(-1))
	runtime.KeepAlive(ballast)
}
