package loop

import (
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
