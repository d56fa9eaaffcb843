package loop

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestARequestCountsInTheCacheAndIsReadBackWhenItWasDropped(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	p.facts = newFacts(100 << 10)
	requested, created := f.begin()
	if r, ok := requested.Data.(*events.JobRequested); ok {
		r.Request.Context = strings.Repeat("x", 200<<10)
	}
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.deliver(t, p, 3, true, f.add(events.KindSubJobReported, "a", 1, success))
	if p.facts.size > 200<<10+100<<10 {
		t.Errorf("%d bytes are kept", p.facts.size)
	}
	p.facts = newFacts(1)
	if got, err := p.requested(t.Context(), p.jobs["j"]); err != nil || len(got.Request.Context) != 200<<10 {
		t.Errorf("%+v, %v", got, err)
	}
	if !f.said(".j.b.1") {
		t.Errorf("b was not issued: %q", f.published)
	}
}

func TestWhatWorkReferredToIsForgottenWithItsJob(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.deliver(t, p, 3, true, f.add(events.KindSubJobReported, "a", 1, success))
	if len(p.facts.bySeq) != 3 {
		t.Errorf("%d facts are kept of a job in motion", len(p.facts.bySeq))
	}
	f.deliver(t, p, 4, true, f.add(events.KindSubJobReported, "b", 1, success))
	for i, moved := range []events.JobMoved{{Status: events.Planning, Cause: 1}, {Status: events.Running, Turn: 1, Cause: 2}, {Status: events.Finished, Turn: 2, Cause: 4}} {
		kind, data := events.Kind("job."+strings.ToLower(string(moved.Status))), any(&moved)
		if moved.Status == events.Finished {
			data = &events.JobEnded{JobMoved: moved}
		}
		e := f.add(kind, "", 0, data)
		e.Key = strconv.Itoa(i)
		f.deliver(t, p, uint64(5+i), true, e)
	}
	if p.jobs["j"] != nil || len(p.facts.bySeq) != 0 || p.facts.size != 0 {
		t.Errorf("%d facts of %d bytes are kept of job %+v", len(p.facts.bySeq), p.facts.size, p.jobs["j"])
	}
}
