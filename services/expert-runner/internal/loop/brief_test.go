package loop

import (
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
		if len(c.kept) != 1 || c.kept[0].job != "a" {
			t.Errorf("kept %+v, want a alone, which was used", c.kept)
		}
		<-time.After(restUnused)
		synctest.Wait()
		if len(c.kept) != 0 || c.timer != nil {
			t.Errorf("kept %+v", c.kept)
		}
		c.put(keptRest{job: "c", digest: "d", size: 1, rest: &brief.Rest{}})
		<-time.After(restUnused)
		synctest.Wait()
		if c.get("c", "d") != nil {
			t.Error("what came after a rest stays")
		}
	})
}
