package bus_test

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

func TestTheClockSaysSinceWhenTheBrokerHasBeenThere(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	began, first, err := b.Clock(t.Context())
	if err != nil || first.After(began) {
		t.Fatalf("now %s, there since %s: %v", began, first, err)
	}
	now, since, err := b.Clock(t.Context())
	if err != nil || now.Before(began) || since.Sub(first).Abs() > time.Second {
		t.Errorf("now %s, there since %s, after %s and %s: %v", now, since, began, first, err)
	}
}
