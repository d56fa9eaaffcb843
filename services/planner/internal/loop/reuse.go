package loop

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Cache keeps plans for requests that come again. Find gives store.ErrNotFound for a key that nothing is kept under; Keep
// overwrites, and forgets after a while.
type Cache interface {
	Find(ctx context.Context, key string) (*planning.Reused, error)
	Keep(ctx context.Context, key string, r *planning.Reused, last time.Duration) error
}

// Whether a plan that was made before was there, for the metrics.
const (
	CacheHit  = "hit"
	CacheMiss = "miss"
)

// reuse looks for a plan that was made for the same request before. It becomes part of the beginning, which is recorded
// before anybody is asked: every later run of this planning sees the same. Planning goes on without it whatever fails here.
func (t *planningRun) reuse() {
	key := t.start.ReuseKey()
	if t.loop.Cache == nil || key == "" || t.w.ResumeOf > 0 {
		return
	}
	found, err := t.loop.Cache.Find(t.ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.loop.log(t.w).Warn("the plan cache cannot be read", "error", err)
	}
	if err == nil {
		t.start.Reused = found
	}
}

// cached keeps the plan of a session that has ended for the next request, and says what the cache was worth to this one.
// Nothing depends on it.
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
		t.loop.log(t.w).Warn("the plan is not kept for the next request", "error", err)
	}
}
