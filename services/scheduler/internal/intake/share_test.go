package intake

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Requests are admitted side by side as long as they are small together.
func TestLargeRequestsAreAdmittedInShares(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	sub, err := b.Consume(t.Context(), b.IntakeConsumer())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Stop)
	take := func(sizes ...int) (list []bus.Delivery) {
		for _, size := range sizes {
			m := events.Message{Subject: b.Names().Request(), Body: make([]byte, size)}
			if _, err := b.Publish(t.Context(), m, bus.Expect{}); err != nil {
				t.Fatal(err)
			}
			more, err := sub.Next(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, more...)
		}
		return list
	}
	for _, c := range []struct {
		list []bus.Delivery
		want int
	}{
		{take(10, 10, 10), 3},
		{take(500<<10, 500<<10, 10), 3},
		{take(500<<10, 500<<10, 200<<10), 2},
		{take(500 << 10), 1},
	} {
		if got := share(c.list); got != c.want {
			t.Errorf("%d of %d at once, want %d", got, len(c.list), c.want)
		}
	}
}
