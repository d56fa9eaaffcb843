package bus_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// alone starts a quiet server in a bubble.
func alone(t *testing.T, f func(t *testing.T, b *bus.Bus)) {
	t.Helper()
	bustest.Virtual(t, func(t *testing.T) { f(t, bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")) })
}

func arm(t *testing.T, b *bus.Bus, job, timer string, at time.Time) {
	t.Helper()
	_, err := b.Timers().Arm(job, timer, at).Wait(t.Context())
	noErr(t, err)
}

func TestDueTimerIsAFactInTheLog(t *testing.T) {
	alone(t, func(t *testing.T, b *bus.Bus) {
		s := reader(t, b, b.Queues().SchedulerConsumer(0, 1))
		due := time.Now().Add(10 * time.Minute)
		arm(t, b, "j1", "retry~a~2", due)
		d := take(t, s, 1)[0]
		if late := time.Since(due); late < 0 || late > time.Second {
			t.Fatalf("fired %s after it was due", late)
		}
		e, ok := d.Event()
		if !ok {
			t.Fatalf("subject %s does not belong to the log", d.Message().Subject)
		}
		want := events.Event{
			Kind: events.KindTimerFired, ID: "j1/timer.fired/retry~a~2", Job: "j1", Key: "retry~a~2",
			Source: "jobgraph/timer", Seq: 1, Time: d.Time(), Data: &events.TimerFired{Timer: "retry~a~2", Due: due.UTC()},
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Fatal(diff)
		}
		noErr(t, d.Ack())
		// A day later the server takes the due message from its stream; the log keeps its own.
		left, err := b.Streams().LastOn(t.Context(), b.Names().Timers, b.Names().Due("j1", "retry~a~2"))
		noErr(t, err)
		if ttl := left.Header[jetstream.MsgTTLHeader]; len(ttl) != 1 || ttl[0] != "24h0m0s" {
			t.Fatalf("the due message lives for %v", ttl)
		}
		if got := seqs(t, b, "j1", 0); len(got) != 1 {
			t.Fatalf("the log has %v", got)
		}
	})
}

func TestPastTimerFiresAtOnceAndRearmedOneOnce(t *testing.T) {
	alone(t, func(t *testing.T, b *bus.Bus) {
		s := reader(t, b, b.Queues().SchedulerConsumer(0, 1))
		arm(t, b, "j1", "past", time.Now().Add(-time.Hour))
		start := time.Now()
		noErr(t, take(t, s, 1)[0].Ack())
		if waited := time.Since(start); waited > time.Second {
			t.Fatalf("a past timer fired after %s", waited)
		}
		arm(t, b, "j1", "x", time.Now().Add(5*time.Minute))
		arm(t, b, "j1", "x", time.Now().Add(10*time.Minute))
		start = time.Now()
		take(t, s, 1)
		if waited := time.Since(start); waited < 10*time.Minute {
			t.Fatalf("a replaced timer fired after %s", waited)
		}
		<-time.After(10 * time.Minute)
		if got := seqs(t, b, "j1", 0); len(got) != 2 {
			t.Fatalf("the log has %v, want two timers", got)
		}
	})
}

func TestCancelledTimersDoNotFire(t *testing.T) {
	alone(t, func(t *testing.T, b *bus.Bus) {
		for _, timer := range []string{"a", "b", "c"} {
			arm(t, b, "j1", timer, time.Now().Add(time.Hour))
			arm(t, b, "j2", timer, time.Now().Add(time.Hour))
		}
		noErr(t, b.Timers().Cancel(t.Context(), "j1", "a"))
		noErr(t, b.Timers().Cancel(t.Context(), "j1", "never"))
		noErr(t, b.Timers().Purge(t.Context(), "j2"))
		wantErr(t, b.Timers().Cancel(t.Context(), "j1", "*"), bus.ErrRefused)
		wantErr(t, b.Timers().Purge(t.Context(), ">"), bus.ErrRefused)
		<-time.After(2 * time.Hour)
		if one, two := seqs(t, b, "j1", 0), seqs(t, b, "j2", 0); len(one) != 2 || len(two) != 0 {
			t.Fatalf("fired %v and %v, want two and none", one, two)
		}
	})
}

func TestTimersSurviveARestart(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Bus("test")
		arm(t, b, "j1", "a", time.Now().Add(time.Hour))
		back := make(chan struct{}, 1)
		b.OnReconnect(func() { back <- struct{}{} })
		server.Stop()
		<-time.After(2 * time.Hour)
		server.Start()
		<-back
		s := reader(t, b, b.Queues().SchedulerConsumer(0, 1))
		take(t, s, 1)
	})
}
