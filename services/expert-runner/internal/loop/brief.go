package loop

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/store"
)

// briefCache keeps what is left out of briefs: all runs of a job share it until the plan changes, so a long plan is read and
// decoded only once while its runs follow each other.
type briefCache struct {
	mu sync.Mutex // Guards the fields below.
	// kept are the most recently used entries, the latest last.
	kept []keptRest
	// timer calls expire; nil while nothing is kept.
	timer *time.Timer
}

type keptRest struct {
	job, digest string
	size        int64
	rest        *brief.Rest
	// used is when it was last read.
	used time.Time
}

// Limits of a briefCache: the number of entries, the bytes of their blobs together, and how long an unused entry stays.
const (
	maxRests     = 32
	maxRestBytes = 32 << 20
	restUnused   = 10 * time.Second
)

func (c *briefCache) get(job, digest string) *brief.Rest {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range c.kept {
		if k.job == job && k.digest == digest {
			k.used = time.Now()
			c.kept = append(append(c.kept[:i], c.kept[i+1:]...), k)
			return k.rest
		}
	}
	return nil
}

func (c *briefCache) put(k keptRest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.used = time.Now()
	c.kept = append(c.kept, k)
	if c.timer == nil {
		c.timer = time.AfterFunc(restUnused, c.expire)
	}
	total := k.size // The latest entry stays, however large it is.
	for i := len(c.kept) - 2; i >= 0; i-- {
		if total += c.kept[i].size; len(c.kept)-i > maxRests || total > maxRestBytes {
			c.kept = append([]keptRest(nil), c.kept[i+1:]...)
			return
		}
	}
}

// expire drops what was not used for a while, so that a runner without work holds no plan.
func (c *briefCache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	unused := 0
	for unused < len(c.kept) && time.Since(c.kept[unused].used) >= restUnused {
		unused++
	}
	if c.kept = append([]keptRest(nil), c.kept[unused:]...); len(c.kept) == 0 {
		c.timer = nil
		return
	}
	c.timer.Reset(restUnused - time.Since(c.kept[0].used))
}

// bringBrief loads what is left out of the brief of the work. If its blob is gone or damaged, the brief stays short: it is
// background, and the run can do without it.
func (r *run) bringBrief() error {
	ref := r.BriefRef
	if ref == nil {
		return nil
	}
	if r.rest = r.loop.briefs.get(r.Job, ref.Digest); r.rest != nil {
		return nil
	}
	data, err := r.loop.Blobs.Get(r.ctx, r.Job, ref.Digest)
	switch {
	case errors.Is(err, store.ErrNotFound):
		r.log().Warn("working without the whole brief", "digest", ref.Digest, "error", err)
		return nil
	case err != nil:
		return err
	case len(r.Brief) == 0:
		if json.Valid(data) {
			r.Brief, r.BriefRef = data, nil
		}
		return nil
	}
	rest, err := brief.ReadRest(data)
	if err != nil {
		r.log().Warn("working without the whole brief", "digest", ref.Digest, "error", err)
		return nil
	}
	r.loop.briefs.put(keptRest{job: r.Job, digest: ref.Digest, size: int64(len(data)), rest: rest})
	r.rest = rest
	return nil
}
