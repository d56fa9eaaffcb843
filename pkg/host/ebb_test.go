package host

import (
	"sync"
	"testing"
	"weak"
)

func TestMemoryIsGivenBackThriceAfterEachBusyTime(t *testing.T) {
	var tide ebb
	for i, look := range []struct {
		allocated uint64
		out       bool
	}{
		{4 << 20, false},   // Quiet, and was never busy.
		{90 << 20, false},  // Busy.
		{300 << 20, false}, // Still busy.
		{301 << 20, true},  // Quiet after the burst.
		{302 << 20, true},  // Releases the caches.
		{364 << 20, false}, // Busy again,
		{365 << 20, true},  // and quiet,
		{366 << 20, true},  // and
		{367 << 20, true},  // quiet.
		{368 << 20, false}, // Released already.
	} {
		if got := tide.out(look.allocated); got != look.out {
			t.Errorf("look %d at %d bytes: %v, want %v", i, look.allocated, got, look.out)
		}
	}
}

func TestAReleaseFreesWhatPoolsHold(t *testing.T) {
	var pool sync.Pool
	buffer := new([1 << 20]byte)
	kept := weak.Make(buffer)
	pool.Put(buffer)
	release()
	if kept.Value() != nil {
		t.Error("a buffer in a pool survives")
	}
}
