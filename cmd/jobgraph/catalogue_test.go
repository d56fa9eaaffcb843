package main_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// awaitExpert waits until the catalogue has a card, with a description when one is given, or has it no longer.
func awaitExpert(s *script, args []string) {
	there := false // Owned by the goroutine of the watch.
	s.until(fmt.Sprintf("an expert %v", args), func(seen func()) (func(), error) {
		return s.Bus().Experts().Watch(s.ctx, func() {
			if s.neg && !there {
				seen()
			}
		}, func(e bus.Entry) {
			var card events.Card
			if e.Key != args[0] || !e.Deleted && json.Unmarshal(e.Value, &card) != nil {
				return
			}
			there = !e.Deleted && (len(args) == 1 || card.Description == args[1])
			if there != s.neg {
				seen()
			}
		})
	})
}

// awaitUnread waits until no runner asks for work of a pool: its card disappears first, its readers shortly after.
func awaitUnread(s *script, args []string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		pools, err := s.Bus().Queues().Pools(s.ctx)
		s.Check(err)
		if facts, known := pools[args[0]]; known && facts.Waiting == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.Fatalf("pool %s never loses its readers", args[0])
		}
	}
}
