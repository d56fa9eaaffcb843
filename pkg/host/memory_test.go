package host

import "testing"

func TestTheHeapMayGrowTheLessTheMoreIsLive(t *testing.T) {
	for _, c := range []struct {
		live    uint64
		percent int
	}{{0, 400}, {10 << 20, 400}, {24 << 20, 400}, {48 << 20, 200}, {96 << 20, 100}, {100 << 20, 90}, {1 << 40, 50}} {
		if got := growth(c.live); got != c.percent {
			t.Errorf("%d bytes live: %d percent, want %d", c.live, got, c.percent)
		}
	}
}

func TestTheLimitOfMemoryLeavesRoomForWhatIsLive(t *testing.T) {
	for live, want := range map[uint64]int64{0: softLimit, softLimit / 2: softLimit, softLimit: 2 * softLimit, 1 << 63: 1 << 61} {
		if got := limit(live); got != want {
			t.Errorf("%d bytes live: limit %d, want %d", live, got, want)
		}
	}
}
