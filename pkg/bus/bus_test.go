package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// forsaken is a goroutine of nats.go that an upload begins. When the upload is over before the goroutine is scheduled, the channel that
// it looks for is gone, and it waits for ever.
const forsaken = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(bustest.Lingers), goleak.IgnoreTopFunction(forsaken))
}

// fact is an event of a job on a separate subject.
func fact(b *bus.Bus, job, key string) events.Message {
	return events.Message{
		Subject: b.Names().Event(job, events.KindInputClosed, key), Body: []byte(`{"action":"answered"}`),
		Header: map[string][]string{
			events.HeaderID: {job + "/" + key}, events.HeaderType: {events.KindInputClosed.Type()}, events.HeaderSource: {"test"},
		},
	}
}

// put publishes or fails the test.
func put(t testing.TB, b *bus.Bus, m events.Message) uint64 {
	t.Helper()
	return musttest.Get(b.Publish(t.Context(), m, bus.Expect{}))(t)
}

// wantErr fails the test unless err wraps want.
func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConnectTriesUntilTheContextEnds(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := bus.Connect(ctx, bus.Options{URL: server.URL()})
	wantErr(t, err, bus.ErrUnavailable)
}

func TestConnectRefusesWrongCredentialsAtOnce(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{User: "u", Password: "p"})
	_, err := bus.Connect(t.Context(), bus.Options{URL: server.URL(), User: "u", Password: "wrong"})
	wantErr(t, err, bus.ErrNotPermitted)
	b, err := bus.Connect(t.Context(), bus.Options{URL: server.URL(), User: "u", Password: "p"})
	noErr(t, err)
	noErr(t, b.Ready())
	b.Close()
	wantErr(t, b.Ready(), bus.ErrClosed)
}

func TestConnectNamesABadPrefix(t *testing.T) {
	_, err := bus.Connect(t.Context(), bus.Options{Prefix: "a.b"})
	if err == nil {
		t.Fatal("a prefix with a dot was taken")
	}
}

func TestReconnectIsToldAndPublishingGoesOn(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	put(t, b, fact(b, "j1", "a"))
	back := make(chan struct{}, 8)
	b.OnReconnect(func() { back <- struct{}{} })
	server.Stop()
	_, err := b.Publish(t.Context(), fact(b, "j1", "b"), bus.Expect{})
	if !errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrUnknown) {
		t.Fatalf("publish without a server gives %v", err)
	}
	waitFor(t, func() bool { return b.Ready() != nil })
	_, _, err = b.Services().Request(t.Context(), b.Names().API("list"), nil)
	if !errors.Is(err, bus.ErrUnavailable) || !strings.Contains(err.Error(), "reconnecting") {
		t.Fatalf("a request without a server gives %v", err)
	}
	server.Start()
	<-back
	put(t, b, fact(b, "j1", "c"))
}

func TestPendingPublishIsUnknownWhenTheConnectionIsLost(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	var acks []bus.Ack
	for range 200 {
		acks = append(acks, b.PublishAsync(fact(b, "j1", "a"), bus.Expect{}))
	}
	server.Stop()
	for _, ack := range acks {
		if _, err := ack.Wait(t.Context()); err != nil && !errors.Is(err, bus.ErrUnknown) {
			t.Fatalf("pending publish ends with %v", err)
		}
	}
}
