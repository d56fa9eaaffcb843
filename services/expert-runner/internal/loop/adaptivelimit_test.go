package loop

import "testing"

// Calls leave room for other work: as many calls as their separate limit allows may be in hand beside the work that computes.
func TestCallsInHandTakeNoPlaceFromOthersUntilTheirOwnAreTaken(t *testing.T) {
	const places, calls = 2, 5
	h := newAdaptiveLimit(places, places, calls)
	taken := 0
	for h.try(1) == 1 {
		taken++
		h.call()
		if taken > places+calls {
			t.Fatalf("%d calls are in hand, want at most %d", taken, places+calls)
		}
	}
	if taken != places+calls {
		t.Errorf("%d calls are in hand, want %d: their places and what waits behind them", taken, places+calls)
	}
	for range places {
		h.done(true, false)
	}
	if got := h.try(100); got != places {
		t.Errorf("%d more are taken beside %d calls, want %d", got, calls, places)
	}
	if got := h.try(1); got != 0 {
		t.Error("one more is taken while all places are")
	}
}

func TestASettingBoundsAllKinds(t *testing.T) {
	h := newAdaptiveLimit(3, 3, 0)
	if got := h.try(100); got != 3 {
		t.Fatalf("%d are taken, want 3", got)
	}
	h.call()
	if got := h.try(1); got != 0 {
		t.Error("a call took no place of those that the setting gives")
	}
}

// A long call says nothing about the pace of the Go functions beside it.
func TestACallLeavesTheLimitAsItIs(t *testing.T) {
	h := newAdaptiveLimit(1, 100, 1)
	h.try(1)
	h.done(false, true)
	lifted := h.limit
	h.try(1)
	h.call()
	h.done(true, false)
	if h.limit != lifted || lifted != 1+rise {
		t.Errorf("the limit is %d behind a call, and was %d", h.limit, lifted)
	}
}
