package loop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease/leasetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
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

func TestBriefsAreKeptByJobWithinLimits(t *testing.T) {
	put := func(c *briefCache, job string, size int64) {
		c.put(keptRest{job: job, digest: "d", size: size, rest: &brief.Rest{}})
	}
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name  string
			sizes []int64
			kept  int // The latest ones.
		}{
			{"as many as are allowed", slices.Repeat([]int64{1}, maxRests-1), maxRests - 1},
			{"one more", slices.Repeat([]int64{1}, maxRests+1), maxRests},
			{"as large as is allowed", []int64{1, maxRestBytes - 2, 1}, 3},
			{"too large together", []int64{2, maxRestBytes - 2, 1}, 2},
			{"one that is too large alone", []int64{1, maxRestBytes + 1}, 1},
		} {
			var c briefCache
			for i, size := range test.sizes {
				put(&c, strconv.Itoa(i), size)
			}
			for i := range test.sizes {
				if kept := c.get(strconv.Itoa(i), "d") != nil; kept != (i >= len(test.sizes)-test.kept) {
					t.Errorf("%s: %d of %d is kept: %t", test.name, i, len(test.sizes), kept)
				}
			}
			<-time.After(2 * restUnused)
		}
		var c briefCache
		put(&c, "a", 1)
		if c.get("b", "d") != nil || c.get("a", "other") != nil || c.get("a", "d") == nil {
			t.Error("a job gets the brief of another")
		}
		<-time.After(restUnused)
	})
}

// stored has payloads, and counts how often one is read.
type stored struct {
	*ports
	data map[string]string
	read int
}

func (s *stored) Get(_ context.Context, _, digest string) ([]byte, error) {
	s.read++
	text, ok := s.data[digest]
	if !ok {
		return nil, store.ErrNotFound
	}
	if text == "" {
		return nil, leasetest.ErrAway
	}
	return []byte(text), nil
}

// What is left out of a brief is background: a run that cannot have it does without, unless it can have it later.
func TestWhatIsLeftOutOfABriefIsRead(t *testing.T) {
	for _, test := range []struct {
		name, digest, short string
		brief               string // Of the work, once it was read.
		rest                bool
		err                 error
		read                int // By two runs.
	}{
		{"the rest, once for both", "rest", `{}`, `{}`, true, nil, 1},
		{"all of it", "rest", "", `{"request":null}`, false, nil, 2},
		{"none", "", `{}`, `{}`, false, nil, 0},
		{"what is gone", "gone", `{}`, `{}`, false, nil, 2},
		{"what is damaged", "damaged", `{}`, `{}`, false, nil, 2},
		{"all of it, damaged", "damaged", "", "", false, nil, 2},
		{"what is away", "away", `{}`, `{}`, false, leasetest.ErrAway, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts(0)
			l := w.loop(jobrun.Effect{}, nil)
			blobs := &stored{ports: w, data: map[string]string{"rest": `{"request":null}`, "damaged": `{`, "away": ""}}
			l.Blobs = blobs
			for range 2 {
				r := &run{Order: &task.Order{Work: events.Work{Job: "j", Brief: json.RawMessage(test.short)}}, loop: l, ctx: t.Context()}
				if test.digest != "" {
					r.BriefRef = &events.Ref{Digest: test.digest}
				}
				if err := r.bringBrief(); !errors.Is(err, test.err) || string(r.Brief) != test.brief || (r.rest != nil) != test.rest {
					t.Errorf("%s: %v, brief %s, rest %+v", test.name, err, r.Brief, r.rest)
				}
			}
			if blobs.read != test.read {
				t.Errorf("%s: read %d times", test.name, blobs.read)
			}
			<-time.After(restUnused)
		})
	}
}

// rests returns what the cache holds, and whether a timer runs.
func (c *briefCache) rests() ([]keptRest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.kept), c.timer != nil
}
