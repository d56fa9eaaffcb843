package adapter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// cacheKey is the prefix of the keys of reusable plans.
const cacheKey = "cache."

// Cache implements loop.Cache on the bucket of plans.
type Cache struct{ Bus *bus.Bus }

// Find implements loop.Cache.
func (c Cache) Find(ctx context.Context, key string) (*planning.Reused, error) {
	text, _, err := c.Bus.Plans().Get(ctx, cacheKey+key)
	if err != nil {
		return nil, err
	}
	var r planning.Reused
	return &r, json.Unmarshal(text, &r)
}

// Keep implements loop.Cache.
func (c Cache) Keep(ctx context.Context, key string, r *planning.Reused, last time.Duration) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = c.Bus.Plans().Put(ctx, cacheKey+key, text, last)
	return err
}
