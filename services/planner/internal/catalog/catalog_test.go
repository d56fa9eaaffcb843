package catalog_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/internal/catalog"
)

// follower is a catalogue that follows a real bucket.
type follower struct {
	*servicetest.Env
	cards *catalog.Catalog
	again chan struct{}
}

func follow(t *testing.T, f func(t *testing.T, w *follower)) {
	t.Helper()
	servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
		e.Announce(events.Card{ID: "before"})
		w := &follower{Env: e, cards: catalog.New(e.Bus.Experts(), slog.New(slog.DiscardHandler)), again: make(chan struct{})}
		ready := make(chan struct{})
		e.Start("catalog", host.Settings{}, func(ctx context.Context, _ *host.Process) error {
			return w.cards.Run(ctx, func() { close(ready) }, w.again)
		})
		<-ready
		f(t, w)
	})
}

func (w *follower) put(key string, value any, ttl time.Duration) {
	w.Helper()
	musttest.Get(w.Bus.Experts().Put(w.Context(), key, w.JSON(value), ttl))(w)
}

func (w *follower) ids() []string {
	var ids []string
	cards, _ := w.cards.Cards()
	for _, card := range cards {
		ids = append(ids, card.ID)
	}
	return ids
}

// becomes waits until these are the cards.
func (w *follower) becomes(want ...string) {
	w.Helper()
	late := time.After(time.Hour)
	for {
		_, changed := w.cards.Cards()
		if cmp.Equal(w.ids(), want) {
			return
		}
		select {
		case <-changed:
		case <-late:
			w.Fatalf("the cards are %v, want %v", w.ids(), want)
		}
	}
}

func TestCardsComeAndGo(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		if d := cmp.Diff([]string{"before"}, w.ids()); d != "" {
			t.Errorf("ready too early: %s", d)
		}
		w.put("a", events.Card{ID: "a"}, 0)
		w.put("b", events.Card{ID: "b"}, 30*time.Second)
		w.becomes("a", "b", "before")
		musttest.Do(t, w.Bus.Experts().Delete(t.Context(), "a"))
		w.becomes("b", "before")
		w.becomes("before") // b has outlived its runner's last heartbeat.
	})
}

// keeps fails the test if the cards change before a time has passed, after which they are these.
func (w *follower) keeps(d time.Duration, want ...string) {
	w.Helper()
	for late := time.After(d); ; {
		_, changed := w.cards.Cards()
		if !cmp.Equal(w.ids(), want) {
			w.Fatalf("the cards are %v, want %v", w.ids(), want)
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

func TestACardThatExpiredStaysForAWhile(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("a", events.Card{ID: "a"}, 30*time.Second)
		w.put("b", events.Card{ID: "b"}, 30*time.Second)
		w.becomes("a", "b", "before")
		w.keeps(45*time.Second, "a", "b", "before")
		w.put("a", events.Card{ID: "a"}, 0) // Its runner was away for a moment only.
		w.keeps(12*time.Second, "a", "b", "before")
		began := time.Now()
		w.becomes("a", "before")
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("a card whose runner is gone is known for %s too long", waited)
		}
		w.keeps(time.Hour, "a", "before")
	})
}

// Planning is not told of a card that expired and is announced again in time: it has seen it all along.
func TestACardThatComesBackInTimeIsNoChange(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("a", events.Card{ID: "a"}, 30*time.Second)
		w.becomes("a", "before")
		_, changed := w.cards.Cards()
		<-time.After(45 * time.Second)
		w.put("a", events.Card{ID: "a"}, 0)
		select {
		case <-changed:
			t.Error("planning was told of a change")
		case <-time.After(time.Hour):
		}
	})
}

// However often the connection is interrupted, a card whose runner is gone is kept no longer.
func TestAnotherReadingKeepsNoCardLonger(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("a", events.Card{ID: "a"}, 30*time.Second)
		w.becomes("a", "before")
		w.keeps(40*time.Second, "a", "before")
		w.again <- struct{}{}
		w.keeps(10*time.Second, "a", "before")
		began := time.Now()
		w.becomes("before")
		if waited := time.Since(began); waited > 15*time.Second {
			t.Errorf("it is known for %s too long", waited)
		}
	})
}

func TestACardThatWasWithdrawnAfterItExpiredGoesAtOnce(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("a", events.Card{ID: "a"}, 30*time.Second)
		w.becomes("a", "before")
		w.keeps(35*time.Second, "a", "before")
		musttest.Do(t, w.Bus.Experts().Delete(t.Context(), "a"))
		synctest.Wait()
		w.keeps(0, "before")
	})
}

// outage has the server be away for a time, and returns when the catalog has read the bucket again.
func (w *follower) outage(d time.Duration, away func()) {
	w.Helper()
	back := make(chan struct{}, 1)
	stop := w.Bus.OnReconnect(func() { back <- struct{}{} })
	defer stop()
	w.Server.Stop()
	away()
	<-time.After(d)
	w.Server.Start()
	<-back
	w.again <- struct{}{}
	<-time.After(3 * time.Second) // The bucket could not be read at once, perhaps.
}

func TestCardsThatExpiredDuringAnOutageStayForAWhile(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("a", events.Card{ID: "a"}, 30*time.Second)
		w.put("b", events.Card{ID: "b"}, 30*time.Second)
		w.becomes("a", "b", "before")
		w.outage(10*time.Minute, func() {})
		w.keeps(20*time.Second, "a", "b", "before")
		w.put("a", events.Card{ID: "a"}, 0)
		began := time.Now()
		w.becomes("a", "before")
		if waited := time.Since(began); waited > 10*time.Second {
			t.Errorf("a card whose runner is gone is known for %s too long", waited)
		}
	})
}

func TestACardThatWasWithdrawnUnseenGoesWithTheNextReading(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		b := &blind{KV: w.Bus.Experts()}
		cards, again, ready := catalog.New(b, slog.New(slog.DiscardHandler)), make(chan struct{}), make(chan struct{})
		w.Start("blind", host.Settings{}, func(ctx context.Context, _ *host.Process) error {
			return cards.Run(ctx, func() { close(ready) }, again)
		})
		<-ready
		b.blind.Store(true)
		musttest.Do(t, w.Bus.Experts().Delete(t.Context(), "before"))
		w.becomes()
		if list, _ := cards.Cards(); len(list) != 1 {
			t.Fatalf("%d cards", len(list))
		}
		b.blind.Store(false)
		again <- struct{}{}
		synctest.Wait()
		if list, _ := cards.Cards(); len(list) != 0 {
			t.Errorf("%d cards", len(list))
		}
	})
}

// blind is a bucket whose changes are not seen for a time, as during an interruption of the connection.
type blind struct {
	bus.KV
	blind atomic.Bool
}

func (b *blind) Watch(ctx context.Context, ready func(), seen func(bus.Entry)) (stop func(), err error) {
	return b.KV.Watch(ctx, ready, func(e bus.Entry) {
		if !b.blind.Load() {
			seen(e)
		}
	})
}

func TestACardThatCameBackUnseenIsThereOnce(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		b := &blind{KV: w.Bus.Experts()}
		cards, again, ready := catalog.New(b, slog.New(slog.DiscardHandler)), make(chan struct{}), make(chan struct{})
		w.Start("blind", host.Settings{}, func(ctx context.Context, _ *host.Process) error {
			return cards.Run(ctx, func() { close(ready) }, again)
		})
		<-ready
		w.put("a", events.Card{ID: "a"}, 30*time.Second)
		<-time.After(35 * time.Second)
		b.blind.Store(true)
		w.put("a", events.Card{ID: "a"}, 0)
		synctest.Wait()
		b.blind.Store(false)
		again <- struct{}{}
		synctest.Wait()
		if list, _ := cards.Cards(); len(list) != 2 {
			t.Errorf("%d cards: %+v", len(list), list)
		}
	})
}

// written is a bucket with changes that come while it is read.
type written []bus.Entry

func (written) Last(context.Context) (uint64, error) { return 0, nil }

func (b written) Watch(_ context.Context, ready func(), seen func(bus.Entry)) (stop func(), err error) {
	for _, e := range b {
		seen(e)
	}
	ready()
	return func() {}, nil
}

func TestACardThatIsWithdrawnWhileTheBucketIsReadIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		bucket := written{{Key: "a", Value: []byte(`{"id":"a"}`), Revision: 1}, {Key: "b", Value: []byte(`{"id":"b"}`), Revision: 2}, {Key: "a", Revision: 3, Deleted: true}}
		cards, ready := catalog.New(bucket, slog.New(slog.DiscardHandler)), make(chan struct{})
		go func() { _ = cards.Run(ctx, func() { close(ready) }, nil) }() // Ends with ctx, without an error.
		<-ready
		if list, _ := cards.Cards(); len(list) != 1 || list[0].ID != "b" {
			t.Errorf("%+v", list)
		}
	})
}

func TestWhatWasAnnouncedBeforeIsInFreshCards(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		for i := range 50 {
			id := fmt.Sprint("card", i)
			w.put(id, events.Card{ID: id}, time.Minute)
			if cards := w.cards.Fresh(t.Context()); !slices.ContainsFunc(cards, func(c events.Card) bool { return c.ID == id }) {
				t.Fatalf("%s was announced, and is not among %d", id, len(cards))
			}
		}
		<-time.After(time.Hour) // They have outlived their runner, whose deletion markers have expired as well.
		began := time.Now()
		if cards := w.cards.Fresh(t.Context()); len(cards) != 1 || !time.Now().Equal(began) {
			t.Errorf("%d cards after %s", len(cards), time.Since(began))
		}
		w.again <- struct{}{}
		synctest.Wait()
		if cards := w.cards.Fresh(t.Context()); len(cards) != 1 || !time.Now().Equal(began) {
			t.Errorf("%d cards after %s behind a new start", len(cards), time.Since(began))
		}
	})
}

func TestASignOfLifeIsNoChange(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		_, changed := w.cards.Cards()
		w.put("before", events.Card{ID: "before", Runner: "r", Seen: time.Now(), Tags: []string{events.SandboxTag + "none asked for"}}, 0)
		select {
		case <-changed:
			t.Error("planning was told of a sign of life")
		case <-time.After(time.Minute):
		}
		w.put("text", "no card", 0)
		if err := w.Bus.Experts().Delete(t.Context(), "text"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
			t.Error("planning was told of what is no card")
		case <-time.After(time.Minute):
		}
		w.put("before", events.Card{ID: "before", Hidden: true}, 0)
		<-changed
	})
}

func TestACardThatCannotBeReadIsLeftOut(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("text", "no card", 0)
		w.put("other", events.Card{ID: "another"}, 0)
		w.put("good", events.Card{ID: "good"}, 0)
		w.becomes("before", "good")
		w.put("good", 17, 0)
		w.becomes("before")
	})
}

func TestReadingAnewKeepsTheCardsMeanwhile(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("a", events.Card{ID: "a"}, 0)
		w.becomes("a", "before")
		_, changed := w.cards.Cards()
		w.again <- struct{}{}
		<-changed
		musttest.Equal(t, []string{"a", "before"}, w.ids())
	})
}

func TestExpertsOfTheProgramGiveWayToOthers(t *testing.T) {
	follow(t, func(t *testing.T, w *follower) {
		w.put("assistant", events.Card{ID: "assistant", Tags: []string{events.BuiltinTag}}, 0)
		w.put("other", events.Card{ID: "other"}, 0)
		w.becomes("before", "other")
		musttest.Do(t, w.Bus.Experts().Delete(t.Context(), "before"))
		w.becomes("other")
		musttest.Do(t, w.Bus.Experts().Delete(t.Context(), "other"))
		w.becomes("assistant")
	})
}
