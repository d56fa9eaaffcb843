package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// bounds are the limits on runs in progress, over all runners, of pools whose cards set one.
func (c *catalog) bounds() map[string]int {
	bounds := map[string]int{}
	for id, f := range c.read { // any order: the cards of a pool agree.
		if f.PoolConcurrency != nil {
			bounds[c.experts[id].Card.Pool] = *f.PoolConcurrency
		}
	}
	return bounds
}

// agrees finds cards that contradict each other about a pool.
func (c *catalog) agrees() {
	first := map[string]string{}
	for _, id := range c.ids() {
		f := c.read[id]
		if f.PoolConcurrency == nil {
			continue
		}
		pool := c.experts[id].Card.Pool
		other, said := first[pool]
		if !said {
			first[pool] = id
			continue
		}
		if was := *c.read[other].PoolConcurrency; was != *f.PoolConcurrency {
			message := fmt.Sprintf("pool %s is bounded to %d here, and to %d by the card of %s", pool, *f.PoolConcurrency, was, other)
			c.faults = append(c.faults, f.fault(events.CodeInvalid, "pool_concurrency", message, "say it once, or the same; or give one of them a pool of its own"))
		}
	}
}

// bound sets the limits of pools, before any of their work is taken.
func (r *runner) bound(ctx context.Context) error {
	bounds, foreign := r.catalog.bounds(), r.catalog.foreign()
	for _, pool := range slices.Sorted(maps.Keys(bounds)) {
		ours := !slices.Contains(foreign, pool)
		if err := bus.Await(ctx, func() error { return r.bus.Queues().BoundPool(ctx, pool, bounds[pool], ours) }); err != nil {
			return fmt.Errorf("bound pool %s to %d runs: %w", pool, bounds[pool], err)
		}
	}
	return nil
}
