package intake

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// A request that cannot be stored is refused at once, with advice; while only the log is full, the queue of requests keeps it.
func TestAFullDiskRefusesAtOnceAndAFullLogPointsToTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var facts bus.StreamFacts
		room, unknown := uint64(reserve), error(nil)
		g := NewGate(func(context.Context) (bus.StreamFacts, error) { return facts, nil }, 100, 1)
		g.Room = func() (uint64, error) { return room, unknown }
		for _, c := range []struct {
			name    string
			change  func()
			message string
			field   string
			hint    string
		}{
			{"nothing is full", func() {}, "", "", ""},
			{"the disk is full", func() { room = reserve - 1 }, "the disk of the store is full: 4095 KiB are free", "disk", "free room"},
			{"both are full", func() { facts.Bytes = 100 }, "the disk of the store is full", "disk", "free room"},
			{"the log is full", func() { room = reserve }, "the log holds 100 bytes", "", "publish the request on q"},
			{"unknown disk", func() { room, unknown = 0, errors.New("no disk") }, "the log holds 100 bytes", "", "publish the request on q"},
			{"there is room again", func() { facts.Bytes = 99 }, "", "", ""},
		} {
			c.change()
			<-time.After(lookEvery)
			got := g.Refusal(t.Context(), "q")
			if (got == nil) != (c.message == "") {
				t.Errorf("%s: %v", c.name, got)
				continue
			}
			if got != nil && (got.Code != events.CodeUnavailable || !strings.Contains(got.Cause, c.message) || got.Field != c.field || !strings.Contains(got.Hint, c.hint)) {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
	})
}
