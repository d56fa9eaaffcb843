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
		room, unknown, away := uint64(reserve), error(nil), error(nil)
		g := NewGate(func(context.Context) (bus.StreamFacts, error) { return facts, away }, 100, 1)
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
			{"the log cannot be queried, and was full", func() { facts.Bytes, away = 99, bus.ErrUnavailable }, "the log holds 100 bytes", "", "publish the request on q"},
			{"there is room again", func() { away = nil }, "", "", ""},
			{"the log cannot be queried, and had room", func() { facts.Bytes, away = 100, bus.ErrUnavailable }, "", "", ""},
			{"the log has reached its own limit", func() { facts, away = bus.StreamFacts{Bytes: 90, MaxBytes: 90}, nil }, "the log is full to 100 %", "", "publish the request on q"},
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

// While the server is mute, nothing is admitted except one request now and then: it shows when the server stores again.
func TestAMuteServerClosesTheGateAndOneRequestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m bus.Mute
		g := NewGate(func(context.Context) (bus.StreamFacts, error) { return bus.StreamFacts{}, nil }, 0, 1)
		g.Mute = func() bus.Mute { return m }
		var told []string
		g.Told = func(reason string) { told = append(told, reason) }
		refused := func(when string, want bool) {
			t.Helper()
			f := g.Refusal(t.Context(), "q")
			if (f != nil) != want {
				t.Errorf("%s: %v", when, f)
			}
			if f != nil && (f.Field != "disk" || !strings.Contains(f.Cause, "acknowledged nothing on jobs.event") || !strings.Contains(f.Hint, "restart it") || !strings.HasSuffix(f.Hint, "submit again")) {
				t.Errorf("%s: %+v", when, f)
			}
		}
		refused("it acknowledges", false)
		if g.Try() {
			t.Error("an open gate is tried")
		}
		m = bus.Mute{Subjects: []string{"jobs.event"}, Since: time.Now(), Last: time.Now()}
		<-time.After(lookEvery)
		refused("it is mute", true)
		<-time.After(tryEvery - lookEvery - time.Millisecond)
		refused("it has just been asked", true)
		<-time.After(time.Millisecond)
		refused("one tries", false)
		refused("another one", true)
		<-time.After(5 * time.Second)
		m.Last = time.Now() // What was tried was not stored.
		<-time.After(tryEvery - time.Millisecond)
		refused("the second time", true)
		<-time.After(time.Millisecond)
		refused("one more tries", false)
		m = bus.Mute{}
		<-time.After(lookEvery)
		refused("it acknowledges again", false)
		<-time.After(tryEvery)
		if g.Try() {
			t.Error("a gate that is open again is tried")
		}
		if len(told) != 2 || told[1] != "" {
			t.Errorf("told %q", told)
		}
	})
}

// Who asks why nothing is admitted learns of a server that stores nothing even if no message has been published.
func TestAskingTheGateFindsOutWhetherTheServerStoresAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored error
		asked := 0
		g := NewGate(func(context.Context) (bus.StreamFacts, error) { return bus.StreamFacts{}, nil }, 0, 1)
		g.Probe = func(ctx context.Context) error {
			if asked++; !errors.Is(stored, bus.ErrUnknown) {
				return stored
			}
			<-ctx.Done()
			return errors.Join(stored, ctx.Err())
		}
		for _, c := range []struct {
			name   string
			stored error
			after  time.Duration
			asked  int
			cause  string
		}{
			{"it stores", nil, 0, 1, ""},
			{"it is known to store", bus.ErrUnknown, probeEvery - time.Millisecond, 1, ""},
			{"it does not answer", bus.ErrUnknown, time.Millisecond, 2, "the server has acknowledged nothing within 3s"},
			{"it still does not", bus.ErrUnknown, 0, 3, "the server has acknowledged nothing within 1s"},
			{"it says that it is full", bus.ErrFull, 0, 4, bus.ErrFull.Error()},
			{"it cannot be asked", bus.ErrNotPermitted, 0, 5, ""},
			{"it stores again", nil, 0, 6, ""},
		} {
			stored = c.stored
			<-time.After(c.after)
			f := g.Ask(t.Context())
			if asked != c.asked || (f == nil) != (c.cause == "") {
				t.Errorf("%s: asked %d times, %v", c.name, asked, f)
			} else if f != nil && (f.Field != "disk" || !strings.Contains(f.Cause, c.cause) || f.Hint != bus.MuteHint) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		stored = bus.ErrUnknown
		<-time.After(probeEvery)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if f := g.Ask(gone); f != nil || asked != 7 {
			t.Errorf("who does not wait learns of nothing: %v", f)
		}
		g.Room, stored = func() (uint64, error) { return 0, nil }, nil
		<-time.After(lookEvery)
		if f := g.Ask(t.Context()); f == nil || f.Field != "disk" || asked != 7 {
			t.Errorf("a closed gate: %v, asked %d times", f, asked)
		}
	})
}
