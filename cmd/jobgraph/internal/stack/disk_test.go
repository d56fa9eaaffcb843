package stack

import (
	"testing"
	"time"
)

// An idle process is not woken every second; where the store may be in danger it is checked as often as that, and no more often,
// however many errors the server logs.
func TestTheStoreIsCheckedMoreOftenInDanger(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	var v vigil
	if got := v.due(now); got != 0 {
		t.Errorf("the first check comes after %v", got)
	}
	v.looked = now
	if got := v.due(now); got != lookEvery {
		t.Errorf("the second check comes after %v", got)
	}
	v.scarce = true
	if got := v.due(now); got != lookSoon {
		t.Errorf("with little room the second check comes after %v", got)
	}
	v.scarce = false
	v.alarm(now.Add(200 * time.Millisecond))
	if got := v.due(now.Add(200 * time.Millisecond)); got != lookSoon-200*time.Millisecond {
		t.Errorf("soon after a check an error brings the next one after %v", got)
	}
	v.alarm(now.Add(3 * time.Second))
	if got := v.due(now.Add(3 * time.Second)); got != 0 {
		t.Errorf("three seconds after a check an error brings the next one after %v", got)
	}
	v.looked = now.Add(3 * time.Second)
	if got := v.due(v.looked); got != lookSoon {
		t.Errorf("after the check that an error has brought the next one comes after %v", got)
	}
	v.looked = now.Add(3*time.Second + alertFor)
	if got := v.due(v.looked); got != lookEvery {
		t.Errorf("when the error no longer counts the next check comes after %v", got)
	}
}
