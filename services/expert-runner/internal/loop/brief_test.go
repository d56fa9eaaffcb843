package loop

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/brief"
)

// A job's plan may take megabytes; a runner must not hold the last ones for as long as it has no other work.
func TestBriefsThatAreNotUsedAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c briefCache
		for _, job := range []string{"a", "b"} {
			c.put(keptRest{job: job, digest: "d", size: 1, rest: &brief.Rest{}})
		}
		<-time.After(restUnused - time.Second)
		if c.get("a", "d") == nil {
			t.Error("an entry is gone too early")
		}
		<-time.After(time.Second)
		synctest.Wait()
		if kept, _ := c.rests(); len(kept) != 1 || kept[0].job != "a" {
			t.Errorf("kept %+v, want a alone, which was used", kept)
		}
		<-time.After(restUnused)
		synctest.Wait()
		if kept, timed := c.rests(); len(kept) != 0 || timed {
			t.Errorf("kept %+v, with a timer: %t", kept, timed)
		}
		c.put(keptRest{job: "c", digest: "d", size: 1, rest: &brief.Rest{}})
		<-time.After(restUnused)
		synctest.Wait()
		if c.get("c", "d") != nil {
			t.Error("what came after a rest stays")
		}
	})
}

// rests returns what the cache holds, and whether a timer runs.
func (c *briefCache) rests() ([]keptRest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.kept), c.timer != nil
}
