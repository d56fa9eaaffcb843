package bus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// unanswered is a bus without streams: what is published waits in a channel for an answer of the test.
func unanswered(t *testing.T) (*bus.Bus, chan *nats.Msg) {
	t.Helper()
	server := bustest.Start(t, bustest.Settings{Quiet: true})
	b := server.Connect("test")
	return b, overhear(t, server, b)
}

// overhear receives what is published, in the place of a stream.
func overhear(t *testing.T, server *bustest.Server, b *bus.Bus) chan *nats.Msg {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(server))
	noErr(t, err)
	t.Cleanup(raw.Close)
	asked := make(chan *nats.Msg, 8)
	_, err = raw.ChanSubscribe(b.Names().AllEvents(), asked)
	noErr(t, err)
	noErr(t, raw.Flush())
	return asked
}

// A subject for answers is used again, but never one to which an answer may still come.
func TestALateAnswerIsTakenForNoOthers(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b, asked := unanswered(t)
		publish := func(key string) (bus.Ack, *nats.Msg) {
			ack := b.PublishAsync(fact(b, "j1", key), bus.Expect{})
			return ack, <-asked
		}
		lost, late := publish("a")
		_, err := lost.Wait(t.Context())
		wantErr(t, err, bus.ErrUnknown)

		answered, m := publish("b")
		if m.Reply == late.Reply {
			t.Fatalf("%s is asked again while its answer may come", m.Reply)
		}
		noErr(t, late.Respond([]byte(`{"stream":"s","seq":7}`)))
		noErr(t, m.Respond([]byte(`{"stream":"s","seq":9}`)))
		if seq, err := answered.Wait(t.Context()); seq != 9 || err != nil {
			t.Fatalf("sequence %d, %v; want the answer to the second, 9", seq, err)
		}
		again, next := publish("c")
		if next.Reply != m.Reply {
			t.Errorf("%s is not used again, but %s", m.Reply, next.Reply)
		}
		noErr(t, next.Respond([]byte(`{"stream":"s","seq":10}`)))
		if seq, err := again.Wait(t.Context()); seq != 10 || err != nil {
			t.Errorf("sequence %d, %v", seq, err)
		}
	})
}

func TestASubjectForAnAnswerThatTheClientGaveUpIsNotUsedAgain(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b, asked := unanswered(t)
		answered := b.PublishAsync(fact(b, "j1", "a"), bus.Expect{})
		first := <-asked
		noErr(t, first.Respond([]byte(`{"stream":"s","seq":7}`)))
		_, err := answered.Wait(t.Context())
		noErr(t, err)
		if _, err = b.PublishAsync(events.Message{}, bus.Expect{}).Wait(t.Context()); err == nil { // Takes the subject of the first.
			t.Fatal("a message without a subject was sent")
		}
		b.PublishAsync(fact(b, "j1", "b"), bus.Expect{})
		if m := <-asked; m.Reply == first.Reply {
			t.Errorf("%s is used again", m.Reply)
		}
	})
}

// After an answer that there is no responder, or an empty one, another answer may follow.
func TestASubjectIsUsedAgainBehindAnAnswerThatIsFinal(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b, asked := unanswered(t)
		ack := b.PublishAsync(fact(b, "j1", "a"), bus.Expect{})
		for _, c := range []struct {
			answer string
			again  bool
		}{
			{`{"stream":"s","seq":7}`, true},
			{`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"}}`, true},
			{`{"error":{"code":503,"err_code":10008,"description":"system temporarily unavailable"}}`, false},
			{"", false}, // The server's answer that there is no responder.
			{"no JSON", false},
		} {
			m := <-asked
			noErr(t, m.Respond([]byte(c.answer)))
			_, _ = ack.Wait(t.Context()) // Whatever it is.
			ack = b.PublishAsync(fact(b, "j1", "b"), bus.Expect{})
			next := <-asked
			if (next.Reply == m.Reply) != c.again {
				t.Errorf("asked at %s behind the answer %q to %s", next.Reply, c.answer, m.Reply)
			}
			asked <- next
		}
	})
}

func TestThePatienceOfAPublishBeginsWhenItIsSent(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		const patience = 10 * time.Second
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		o := server.Options("test")
		o.AckTimeout, o.MaxPending = patience, 2
		b, err := bus.Connect(t.Context(), o)
		noErr(t, err)
		defer b.Close()
		overhear(t, server, b)
		b.PublishAsync(fact(b, "j1", "a"), bus.Expect{})
		<-time.After(patience / 10)
		b.PublishAsync(fact(b, "j1", "b"), bus.Expect{})
		last := b.PublishAsync(fact(b, "j1", "c"), bus.Expect{}) // There is room when the first is given up.
		sent := time.Now()
		_, err = last.Wait(t.Context())
		wantErr(t, err, bus.ErrUnknown)
		if waited := time.Since(sent); waited != patience {
			t.Errorf("given up %s after it was sent, want %s", waited, patience)
		}
	})
}
