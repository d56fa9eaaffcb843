package loop

import (
	"context"
	"errors"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// sender returns an outbox and a job that is ready to send its first work.
func sender(t *testing.T) (f *fake, p *Partition, j *job) {
	f = newFake()
	p = f.partition(t)
	requested, created := f.begin()
	f.fail[".j.a.1"] = errAway
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	delete(f.fail, ".j.a.1")
	j = p.cache.jobs["j"]
	if j.phase != ready || !j.retry.pending() {
		t.Fatalf("the job is %s, tried again %v", j.phase, j.retry.pending())
	}
	j.retry.clear()
	return f, p, j
}

// acked returns the batch that was answered.
func acked(p *Partition) *inFlightBatch { return (<-p.beside.results).(*inFlightBatch) }

func TestAJobIsInFlightFromTheSendingToTheLastAck(t *testing.T) {
	f, p, j := sender(t)
	musttest.Do(t, p.outbox.send(t.Context(), []*job{j}))
	if j.phase != inFlight || p.outbox.underWay != 1 || !f.said(".j.a.1") {
		t.Fatalf("it is %s, %d batches are under way, said %q", j.phase, p.outbox.underWay, f.published)
	}
	musttest.Do(t, p.settle(t.Context(), acked(p)))
	if j.phase != ready || p.outbox.underWay != 0 || !j.changed || !j.dirty {
		t.Errorf("it is %s, %d batches are under way, looked at again %v", j.phase, p.outbox.underWay, j.dirty)
	}
}

func TestAStateThatIsDroppedInFlightIsNotToldWhatWasDelivered(t *testing.T) {
	_, p, j := sender(t)
	musttest.Do(t, p.outbox.send(t.Context(), []*job{j}))
	p.cache.drop(j)
	musttest.Do(t, p.settle(t.Context(), acked(p)))
	if j.phase != cold || j.state != nil || j.changed || !j.dirty {
		t.Errorf("it is %s, looked at again %v", j.phase, j.dirty)
	}
}

func TestAnOutcomeDecidesWhetherTheStateInMemoryIsStillGood(t *testing.T) {
	run := graph.CommandID{Kind: graph.RunSubJob, SubJob: "a", Run: 1}
	end := graph.CommandID{Kind: graph.EndJob}
	for name, test := range map[string]struct {
		id         graph.CommandID
		err        error
		fails      bool
		phase      phase
		distrusted bool
	}{
		"delivered":                       {run, nil, false, ready, false},
		"it is there already":             {run, store.ErrConflict, false, ready, false},
		"the end came too late":           {end, store.ErrConflict, true, cold, false},
		"unknown":                         {run, store.ErrUnknown, true, cold, false},
		"the bus is away":                 {run, errAway, true, ready, false},
		"the log does not have its end":   {graph.CommandID{Kind: graph.ReapJob}, errNoEnd, true, cold, true},
		"too large, and reported as such": {run, store.ErrTooLarge, false, ready, false},
	} {
		_, p, j := sender(t)
		err := p.outbox.settle(t.Context(), &pendingAck{job: j, cmd: &graph.Command{CommandID: test.id}, err: test.err})
		if (err != nil) != test.fails || j.phase != test.phase || j.distrusted != test.distrusted {
			t.Errorf("%s: %v, it is %s, distrusted %v", name, err, j.phase, j.distrusted)
		}
	}
}

func TestNothingIsFetchedWhileTooManyBatchesAreInFlight(t *testing.T) {
	_, p, _ := sender(t)
	for p.outbox.underWay = range maxInFlight {
		if p.outbox.full() {
			t.Fatalf("full with %d", p.outbox.underWay)
		}
	}
	if p.outbox.underWay = maxInFlight; !p.outbox.full() {
		t.Error("never full")
	}
}

func TestACrashAmongTheAnswersEndsThePartition(t *testing.T) {
	died := errors.New("died")
	b := &inFlightBatch{pending: []pendingAck{{err: errAway}, {ack: outcome{errCrash{died}}}}}
	b.wait(context.Background())
	if err := b.crashed(); !errors.Is(err, died) {
		t.Error(err)
	}
}
