package loop

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Cache stores plans for identical requests. Find returns store.ErrNotFound if a key has none. Keep overwrites, and deletes
// the plan after a time.
type Cache interface {
	Find(ctx context.Context, key string) (*planning.Reused, error)
	Keep(ctx context.Context, key string, r *planning.Reused, last time.Duration) error
}

// Whether a stored plan was found, for the metrics.
const (
	CacheHit  = "hit"
	CacheMiss = "miss"
)

// reuse looks for a stored plan of the same request. It becomes part of the start record, which is written before the first
// call, so that every later run sees the same. If it fails, planning continues without it.
func (t *planningRun) reuse() {
	key := t.start.ReuseKey()
	if t.loop.Cache == nil || key == "" || t.w.ResumeOf > 0 {
		return
	}
	found, err := t.loop.Cache.Find(t.ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.loop.log(t.w).Warn("cannot read the plan cache", "error", err)
	}
	if err == nil {
		t.start.Reused = found
	}
}

// cached stores the plan of a finished planning for identical requests, and records a hit or miss. Errors are only logged.
func (t *planningRun) cached(v *verdict) {
	key := t.start.ReuseKey()
	if t.loop.Cache == nil || key == "" || v.end == nil || v.end.Plan == nil {
		return
	}
	v.cache = CacheMiss
	if v.end.Reused {
		v.cache = CacheHit
	}
	if v.end.Keep == nil {
		return
	}
	kept := &planning.Reused{Plan: v.end.Keep, Job: t.w.Job, Made: time.Now().UTC()}
	if err := t.loop.Cache.Keep(t.ctx, key, kept, t.start.ReuseFor()); err != nil {
		t.loop.log(t.w).Warn("cannot store the plan for reuse", "error", err)
	}
}
