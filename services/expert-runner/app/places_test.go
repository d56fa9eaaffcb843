package app

import "testing"

func TestCallsAreBoundedByMemory(t *testing.T) {
	for memory, want := range map[uint64]int{0: 256, 64 << 20: 16, 512 << 20: 64, 2 << 30: 256, 24 << 30: 256} {
		if got := callPlaces(memory); got != want {
			t.Errorf("%d places with %d MiB, want %d", got, memory>>20, want)
		}
	}
}
