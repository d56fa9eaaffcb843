package bus_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// mute fails the test unless the bus is mute on these kinds of subjects.
func mute(t *testing.T, when string, b *bus.Bus, kinds ...string) {
	t.Helper()
	m := b.Mute()
	if d := cmp.Diff(kinds, m.Subjects); d != "" {
		t.Errorf("%s (-want +got):\n%s", when, d)
	}
	if m.Is() != (len(kinds) > 0) || (m.String() == "") != (len(kinds) == 0) {
		t.Errorf("%s: %t, %q", when, m.Is(), m.String())
	}
}

func TestAServerThatAcknowledgesNothingIsMuteUntilItDoes(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b, asked := unanswered(t)
		lose := func(key string) *nats.Msg {
			_, err := b.PublishAsync(fact(b, "j1", key), bus.Expect{}).Wait(t.Context())
			wantErr(t, err, bus.ErrUnknown)
			return <-asked
		}
		answer := func(key, text string) {
			m := fact(b, "j1", key)
			m.Header[events.HeaderMsgID] = []string{key}
			ack := b.PublishAsync(m, bus.Expect{})
			noErr(t, (<-asked).Respond([]byte(text)))
			_, _ = ack.Wait(t.Context()) // Whatever it is.
		}
		const stored = `{"stream":"s","seq":7}`
		began := time.Now()
		lose("a")
		mute(t, "one message was not acknowledged", b)
		answer("b", stored)
		lose("c")
		mute(t, "one after an acknowledgement", b)
		again := time.Now().Add(-5 * time.Second)
		lose("d")
		mute(t, "two in a row", b, "jobs.event")
		if m := b.Mute(); !m.Since.Equal(again) || !m.Last.Equal(time.Now()) || !m.Since.After(began) {
			t.Errorf("mute since %s until %s, want %s and %s", m.Since, m.Last, again, time.Now())
		}
		// A server can refuse, and recognise a repeat, without writing.
		answer("e", `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"}}`)
		mute(t, "a refusal", b, "jobs.event")
		answer("f", `{"stream":"s","seq":7,"duplicate":true}`)
		mute(t, "a repeat", b, "jobs.event")
		answer("g", stored)
		mute(t, "an acknowledgement", b)
		lose("h")
		mute(t, "one more", b)
	})
}

// Messages that were under way together say as much as one: a server may be busy for a moment.
func TestAStallOfAMomentIsNoMuteServer(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b, _ := unanswered(t)
		var acks []bus.Ack
		for _, key := range []string{"a", "b", "c", "d"} {
			acks = append(acks, b.PublishAsync(fact(b, "j1", key), bus.Expect{}))
			<-time.After(time.Second)
		}
		for _, ack := range acks {
			_, err := ack.Wait(t.Context())
			wantErr(t, err, bus.ErrUnknown)
		}
		mute(t, "messages of four seconds", b)
		_, err := b.PublishAsync(fact(b, "j1", "e"), bus.Expect{}).Wait(t.Context())
		wantErr(t, err, bus.ErrUnknown)
		mute(t, "one that was sent after these", b, "jobs.event")
	})
}

// deaf is a bus that stores no work until end is called.
func deaf(t *testing.T) (server *bustest.Server, b *bus.Bus, end func()) {
	t.Helper()
	server = bustest.Start(t, bustest.Settings{Quiet: true})
	b = server.Bus("test")
	return server, b, server.Mute(b.Names().Work)
}

func TestOneMuteStreamMarksNoOther(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		_, b, end := deaf(t)
		work := func() error {
			_, err := b.Publish(t.Context(), events.Message{Subject: b.Names().WorkFor("p", "e", "j", "a", 1)}, bus.Expect{})
			return err
		}
		for range 2 {
			wantErr(t, work(), bus.ErrUnknown)
			put(t, b, fact(b, "j1", "a"))
		}
		mute(t, "work alone", b, "jobs.work")
		if log, work := b.Mute(b.Names().AllEvents()), b.Mute(b.Names().AllEvents(), b.Names().WorkFor("p", "e", "j", "a", 1)); log.Is() || !work.Is() {
			t.Errorf("the log: %s; the log or work: %s", log.String(), work.String())
		}
		noErr(t, b.Streams().Probe(t.Context()))
		end()
		noErr(t, work())
		mute(t, "work is stored", b)
	})
}

func TestANewConnectionEndsTheSilence(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server, b, _ := deaf(t)
		for range 2 {
			_, err := b.Publish(t.Context(), events.Message{Subject: b.Names().WorkFor("p", "e", "j", "a", 1)}, bus.Expect{})
			wantErr(t, err, bus.ErrUnknown)
		}
		mute(t, "before", b, "jobs.work")
		back := make(chan struct{}, 1)
		b.OnReconnect(func() { back <- struct{}{} })
		server.Stop()
		server.Start()
		<-back
		mute(t, "behind a reconnect", b)
		<-time.After(time.Minute) // The server has begun to source timers.
	})
}

func TestAProbeFindsOutWhetherAnythingIsStoredAndLeavesNothing(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Bus("test")
		noErr(t, b.Streams().Probe(t.Context()))
		<-time.After(3 * time.Second)
		facts, err := b.Streams().Info(t.Context(), b.Names().Timers)
		noErr(t, err)
		if facts.Messages != 0 {
			t.Errorf("%d messages are left", facts.Messages)
		}
		server.Mute(b.Names().Timers)
		wantErr(t, b.Streams().Probe(t.Context()), bus.ErrUnknown)
	})
}

func TestSeveralMuteStreamsAreOneSilenceFromTheFirstToTheLast(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Bus("test")
		server.Mute(b.Names().Work, b.Names().Log)
		lose := func(subject string) {
			_, err := b.Publish(t.Context(), events.Message{Subject: subject}, bus.Expect{})
			wantErr(t, err, bus.ErrUnknown)
		}
		work, log := b.Names().WorkFor("p", "e", "j", "a", 1), b.Names().Event("j", events.KindJobFinished)
		began := time.Now()
		lose(work)
		lose(log)
		lose(log)
		lose(work)
		for range 16 { // In any order of the streams.
			mute(t, "both", b, "jobs.event", "jobs.work")
			if m := b.Mute(); !m.Since.Equal(began) || !m.Last.Equal(time.Now()) {
				t.Errorf("mute since %s until %s, want %s and %s", m.Since, m.Last, began, time.Now())
			}
		}
	})
}
