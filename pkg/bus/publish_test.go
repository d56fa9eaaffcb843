package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestPublishIsStoredOnlyUnderItsExpectation(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	seq, err := b.Publish(t.Context(), fact(b, "j1", "a"), bus.ExpectNone())
	noErr(t, err)
	_, err = b.Publish(t.Context(), fact(b, "j1", "a"), bus.ExpectNone())
	wantErr(t, err, bus.ErrConflict)
	next, err := b.Publish(t.Context(), fact(b, "j1", "a"), bus.ExpectLast(seq))
	noErr(t, err)
	if next != seq+1 {
		t.Fatalf("sequence %d after %d", next, seq)
	}
}

func TestExpectationMayBeAboutAnotherSubject(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	control := events.Message{Subject: b.Names().Control("j1"), Body: []byte(`{}`)}
	at := put(t, b, control)
	e := bus.ExpectLast(at)
	e.Subject = control.Subject
	end := events.Message{Subject: b.Names().Event("j1", events.KindJobFinished), Body: []byte(`{}`)}
	put(t, b, control)
	_, err := b.Publish(t.Context(), end, e)
	wantErr(t, err, bus.ErrConflict)
	*e.Last = at + 1
	_, err = b.Publish(t.Context(), end, e)
	noErr(t, err)
}

func TestRepeatedMessageIDGivesTheFirstSequence(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	m := fact(b, "j1", "a")
	m.Header[events.HeaderMsgID] = []string{"same"}
	first := put(t, b, m)
	if second := put(t, b, m); second != first {
		t.Fatalf("the repeat has sequence %d, the first %d", second, first)
	}
}

// A message is stored although another one has its id, and only a repeat of the same message counts as one.
func TestAnIDThatIsTakenByAnotherMessageDropsNothing(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	named := func(m events.Message) events.Message {
		m.Header = map[string][]string{events.HeaderMsgID: {"same"}}
		return m
	}
	work := func(subjob string) events.Message {
		return named(events.Message{Subject: b.Names().WorkFor("p", "e", "j1", subjob, 1), Body: []byte(`{}`)})
	}
	for stream, pair := range map[string][2]func() events.Message{
		b.Names().Log:  {func() events.Message { return named(fact(b, "j1", "thief")) }, func() events.Message { return named(fact(b, "j1", "a")) }},
		b.Names().Work: {func() events.Message { return work("thief") }, func() events.Message { return work("a") }},
	} {
		thief, mine := pair[0], pair[1]
		if first, second := put(t, b, thief()), put(t, b, thief()); first != second {
			t.Errorf("%s: a repeat has sequence %d, the first %d", stream, second, first)
		}
		seq := put(t, b, mine())
		if m, err := b.Streams().LastOn(t.Context(), stream, mine().Subject); err != nil || m.Seq != seq {
			t.Errorf("%s: the message is said to be at %d, but is at %d (%v)", stream, seq, m.Seq, err)
		}
		_, err := b.Publish(t.Context(), mine(), bus.ExpectNone())
		wantErr(t, err, bus.ErrConflict)
	}
	noErr(t, b.Streams().Purge(t.Context(), b.Names().Work, work("thief").Subject)) // As if it was done.
	for _, scheduler := range []*bus.Bus{b, withRoles(t, server)} {
		_, err := scheduler.Publish(t.Context(), work("b"), bus.ExpectNone())
		noErr(t, err)
		if m, err := b.Streams().LastOn(t.Context(), b.Names().Work, work("b").Subject); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("work that was done is given out again, at %d (%v)", m.Seq, err)
		}
	}
}

func TestPublishRefusesWhatIsTooLarge(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{MaxPayload: 300 << 10}).Bus("test")
	m := fact(b, "j1", "a")
	m.Body = make([]byte, bus.MaxMessage+1)
	_, err := b.Publish(t.Context(), m, bus.Expect{})
	wantErr(t, err, bus.ErrTooLarge)
	m.Body = make([]byte, 400<<10)
	_, err = b.Publish(t.Context(), m, bus.Expect{})
	wantErr(t, err, bus.ErrTooLarge)
}

func TestPublishWithoutAStreamIsUnavailable(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Connect("test")
	_, err := b.PublishAsync(fact(b, "j1", "a"), bus.Expect{}).Wait(t.Context())
	wantErr(t, err, bus.ErrUnavailable)
}

func TestPublishRefusesASubjectThatIsNone(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	_, err := b.Publish(t.Context(), events.Message{Subject: "with space"}, bus.Expect{})
	wantErr(t, err, bus.ErrRefused)
}

func TestPublishWithoutAnAnswerIsUnknown(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Connect("test")
		stop, err := b.SubscribeCore(b.Names().AllEvents(), func(string, []byte) {})
		noErr(t, err)
		defer stop()
		start := time.Now()
		first := b.PublishAsync(fact(b, "j1", "a"), bus.Expect{})
		<-time.After(3 * time.Second)
		second := b.PublishAsync(fact(b, "j1", "b"), bus.Expect{})
		for i, ack := range []bus.Ack{first, second} {
			_, err = ack.Wait(t.Context())
			wantErr(t, err, bus.ErrUnknown)
			if waited, want := time.Since(start), time.Duration(5+3*i)*time.Second; waited != want {
				t.Fatalf("publish %d was given up after %s, want %s", i, waited, want)
			}
		}
	})
}

func TestClosedBusEndsEveryWait(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s := reader(t, b, b.Queues().PoolConsumer("default"))
	ended := make(chan error, 1)
	go func() {
		_, err := s.Next(t.Context(), 1)
		ended <- err
	}()
	b.Close()
	wantErr(t, <-ended, bus.ErrClosed)
	_, err := b.Publish(t.Context(), fact(b, "j1", "a"), bus.Expect{})
	wantErr(t, err, bus.ErrClosed)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ack := b.PublishAsync(fact(b, "j1", "a"), bus.Expect{})
	if _, err := ack.Wait(ctx); err != nil {
		wantErr(t, err, bus.ErrUnknown)
		wantErr(t, err, context.Canceled)
	}
	_, err := ack.Wait(t.Context())
	noErr(t, err)
}

func TestWindowHoldsBackAndLosesNothing(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	server.Bus("test")
	o := server.Options("small")
	o.MaxPending = 4
	b, err := bus.Connect(t.Context(), o)
	noErr(t, err)
	defer b.Close()
	done := make(chan error, 8)
	for range 8 {
		go func() {
			for range 100 {
				if _, err := b.PublishAsync(fact(b, "j1", "a"), bus.Expect{}).Wait(t.Context()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		noErr(t, <-done)
	}
	facts, err := b.Streams().Info(t.Context(), b.Names().Log)
	noErr(t, err)
	if facts.Messages != 800 {
		t.Fatalf("%d messages stored, want 800", facts.Messages)
	}
}

func TestFullStreamSaysSo(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{MaxStore: 8 << 20})
	b := server.Bus("test")
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		_, err = b.Publish(t.Context(), events.Message{Subject: b.Names().Event("j1", events.KindInputClosed, "a"), Body: []byte(strings.Repeat("x", 200<<10))}, bus.Expect{})
	}
	wantErr(t, err, bus.ErrFull)
}
