package run

import "testing"

func TestOnlyAnotherOwnerWithTheSameSeatIsSucceeded(t *testing.T) {
	now := Seated("runner-up", "2")
	for other, want := range map[string]bool{
		Seated("runner-up", "1"):  true,
		now:                       false,
		Seated("planner-up", "1"): false,
		"runner-up":               false,
		"runner-1":                false,
		"":                        false,
	} {
		if got := Succeeds(now, other); got != want {
			t.Errorf("%s succeeds %q: %t", now, other, got)
		}
	}
	if Succeeds("runner-1", "runner-2") {
		t.Error("owners without a seat succeed each other")
	}
}
