package loop

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// holdLoads returns a partition that reads states only once the channel is closed.
func holdLoads(t *testing.T) (p *Partition, let chan struct{}) {
	w := &tower{fake: newFake(), loads: make(chan struct{})}
	return New(strict(t, w.partition(t).Logger), Ports{Publisher: w, Log: w.fake, Sweeper: w, States: w, Journals: w, Alarms: w, Blobs: w, Meter: w}), w.loads
}

func TestSoManyStatesAreReadAtOnceAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, let := holdLoads(t)
		for i := range maxLoads + 3 {
			if p.loader.full() {
				t.Fatalf("full with %d jobs", i)
			}
			musttest.Do(t, p.loader.load(t.Context(), p.cache.get(fmt.Sprint("j", i))))
		}
		phases := map[phase]int{}
		for _, j := range p.cache.jobs {
			phases[j.phase]++
		}
		if p.beside.underWay[loads] != maxLoads || phases[loading] != maxLoads || phases[loadQueued] != 3 {
			t.Errorf("%d are read, phases %v", p.beside.underWay[loads], phases)
		}
		close(let)
		for range maxLoads + 3 {
			r := (<-p.beside.results).(*loaded)
			p.beside.done(r)
			if !p.cache.loaded(r.job) || r.err != nil {
				t.Errorf("%s is %s: %v", r.job.id, r.job.phase, r.err)
			}
			musttest.Do(t, p.loader.serve(t.Context()))
		}
		if p.beside.underWay[loads] != 0 || len(p.loader.queue) != 0 {
			t.Errorf("%d under way, %d in the queue", p.beside.underWay[loads], len(p.loader.queue))
		}
	})
}

// What was delivered before a read began is in the log by then; what comes later may be missing.
func TestOnlyAReadingThatHasBegunCanLackSomething(t *testing.T) {
	for _, test := range []struct {
		phase phase
		good  bool
	}{{loadQueued, true}, {loading, false}} {
		c, _ := newTestCache()
		j := c.get("j")
		j.phase = test.phase
		c.doubt(j, 7)
		if j.phase == loadQueued {
			c.move(j, loading)
		}
		if got := c.loaded(j); got != test.good || j.phase != cold {
			t.Errorf("%s: good %v, it is %s", test.phase, got, j.phase)
		}
	}
}
