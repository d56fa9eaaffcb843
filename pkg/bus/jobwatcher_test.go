package bus_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// end is the end of a job.
func end(t testing.TB, b *bus.Bus, job string) events.Message {
	t.Helper()
	m, err := events.Encode(b.Names(), events.Event{
		Kind: events.KindJobFinished, ID: job + "/end", Job: job, Source: "test", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}},
	})
	noErr(t, err)
	return m
}

func listen(t testing.TB, b *bus.Bus, job string) *bus.Listener {
	t.Helper()
	l, err := b.Log().Lifecycle().Listen(t.Context(), job)
	noErr(t, err)
	t.Cleanup(l.Stop)
	return l
}

// wantNext fails the test unless the next notification has a sequence.
func wantNext(t testing.TB, l *bus.Listener, seq uint64) {
	t.Helper()
	got, err := l.Next(t.Context())
	noErr(t, err)
	if got != seq {
		t.Fatalf("heard of %d, want %d", got, seq)
	}
}

func consumers(t testing.TB, b *bus.Bus) int {
	t.Helper()
	facts, err := b.Streams().Info(t.Context(), b.Names().Log)
	noErr(t, err)
	return facts.Consumers
}

func TestAListenerHearsOfItsJobAcrossARestart(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	put(t, b, end(t, b, "j1")) // Before there was a listener.
	first, second := listen(t, b, "j1"), listen(t, b, "j2")
	put(t, b, fact(b, "j1", "between")) // Neither begin nor end.
	wantNext(t, second, put(t, b, end(t, b, "j2")))
	wantNext(t, first, put(t, b, end(t, b, "j1")))
	back := make(chan struct{}, 1)
	b.OnReconnect(func() { back <- struct{}{} })
	server.Stop()
	server.Start()
	<-back
	wantNext(t, second, put(t, b, end(t, b, "j2")))
	wantNext(t, first, put(t, b, end(t, b, "j1")))
}

func TestOneConsumerServesAllListenersAndGoesWithTheLast(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		before := consumers(t, b)
		for range 2 {
			list := []*bus.Listener{listen(t, b, "j1"), listen(t, b, "j1"), listen(t, b, "j2")}
			if n := consumers(t, b); n != before+1 {
				t.Fatalf("%d consumers, want %d", n, before+1)
			}
			seq := put(t, b, end(t, b, "j1"))
			wantNext(t, list[0], seq)
			wantNext(t, list[1], seq)
			for _, l := range list {
				l.Stop()
			}
			waitFor(t, func() bool { return consumers(t, b) == before }) // The server removes it in a separate goroutine.
		}
	})
}

func TestAListenerMissesNothingWhenItsConsumerIsLost(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	l := listen(t, b, "j1")
	stream, err := sdk(t, server).Stream(t.Context(), b.Names().Log)
	noErr(t, err)
	names := stream.ConsumerNames(t.Context())
	for name := range names.Name() {
		noErr(t, stream.DeleteConsumer(t.Context(), name))
	}
	noErr(t, names.Err())
	wantNext(t, l, put(t, b, end(t, b, "j1")))
}

func TestTheLastEventOfSomeKindsIsTheLatest(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	put(t, b, fact(b, "j1", "a"))
	if e, err := b.Log().LastOf(t.Context(), "j1", events.KindJobFinished, events.KindJobFailed); err != nil || e.Seq != 0 {
		t.Fatalf("got %+v, %v", e, err)
	}
	put(t, b, end(t, b, "j2"))
	seq := put(t, b, end(t, b, "j1"))
	put(t, b, fact(b, "j1", "b"))
	e, err := b.Log().LastOf(t.Context(), "j1", events.KindJobFailed, events.KindJobFinished, events.KindJobStopped)
	if err != nil || e.Seq != seq || e.Kind != events.KindJobFinished {
		t.Fatalf("got %+v, %v", e, err)
	}
	_, err = b.Log().LastOf(t.Context(), "*", events.KindJobFinished)
	wantErr(t, err, bus.ErrRefused)
}

func TestAListenerEndsWithItsBus(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	l := listen(t, b, "j1")
	b.Close()
	_, err := l.Next(t.Context())
	wantErr(t, err, bus.ErrClosed)
	_, err = b.Log().Lifecycle().Listen(t.Context(), "j1")
	wantErr(t, err, bus.ErrClosed)
	_, err = b.Log().Lifecycle().Listen(t.Context(), "*")
	wantErr(t, err, bus.ErrRefused)
}
