package main_test

import (
	"encoding/json"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// awaitExpert waits until the catalogue has a card, with a description when one is given, or has it no longer.
func awaitExpert(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: [!] awaitexpert ID [DESCRIPTION]")
	}
	c, ctx, done := connect(ts)
	defer done()
	seen := make(chan struct{}, 1)
	told := func() {
		select {
		case seen <- struct{}{}:
		default: // Seen before.
		}
	}
	there := false // Owned by the goroutine of the watch.
	stop, err := c.Bus().Experts().Watch(ctx, func() {
		if neg && !there {
			told()
		}
	}, func(e bus.Entry) {
		var card events.Card
		if e.Key != args[0] || !e.Deleted && json.Unmarshal(e.Value, &card) != nil {
			return
		}
		there = !e.Deleted && (len(args) == 1 || card.Description == args[1])
		if there != neg {
			told()
		}
	})
	ts.Check(err)
	defer stop()
	select {
	case <-seen:
	case <-ctx.Done():
		ts.Fatalf("the catalogue never changes so: %v", args)
	}
}

// awaitUnread waits until no runner asks for work of a pool any more: its card goes first, its readers a moment later.
func awaitUnread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaitunread POOL")
	}
	c, ctx, done := connect(ts)
	defer done()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		pools, err := c.Bus().Queues().Pools(ctx)
		ts.Check(err)
		if facts, known := pools[args[0]]; known && facts.Waiting == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("pool %s never loses its readers", args[0])
		}
	}
}
