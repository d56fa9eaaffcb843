package bus_test

import (
	"bytes"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// A slow reader holds a few MiB, however large messages are, and gets all of them in the end.
func TestWhatWaitsUnreadIsBoundedInBytes(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	const size, count = 400 << 10, 40
	for run := range count {
		put(t, b, events.Message{Subject: b.Names().WorkFor("default", "e", "j1", "s1", run+1), Body: bytes.Repeat([]byte("x"), size)})
	}
	c := b.Queues().PoolConsumer("default")
	s := reader(t, b, c)
	got := take(t, s, 1)
	facts, err := b.Queues().Info(t.Context(), c.Stream, c.Durable)
	noErr(t, err)
	if held := facts.Unsettled * size; held > 8<<20 {
		t.Errorf("%d bytes are held for a reader of one message", held)
	}
	seen := map[uint64]bool{got[0].Seq(): true}
	for len(seen) < count {
		for _, d := range take(t, s, 1) {
			seen[d.Seq()] = true
			noErr(t, d.Ack())
		}
	}
}
